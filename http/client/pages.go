package client

import (
	"context"
	"iter"
	"slices"
)

// EachMessage iterates over the messages of an inbox, newest first, in pages of q.Limit. It ends
// after an error.
func (c *Client) EachMessage(ctx context.Context, address string, q MessageQuery) iter.Seq2[*Message, error] {
	if len(q.Fields) > 0 && !slices.Contains(q.Fields, "id") {
		q.Fields = append([]string{"id"}, q.Fields...) // paging uses the ids
	}
	return eachItem(q, func(q *MessageQuery) ([]Message, bool, error) {
		page, err := c.Messages(ctx, address, *q)
		if n := len(page.Emails); n > 0 {
			q.Before = page.Emails[n-1].ID
		}
		return page.Emails, page.HasMore && len(page.Emails) > 0, err
	})
}

// EachMessageOfAll iterates over the messages of all inboxes of the account, like EachMessage.
func (c *Client) EachMessageOfAll(ctx context.Context, q AllQuery) iter.Seq2[*InboxMessage, error] {
	return eachItem(q, func(q *AllQuery) ([]InboxMessage, bool, error) {
		page, err := c.AllMessages(ctx, *q)
		q.Cursor = page.NextCursor
		return page.Emails, q.Cursor != "", err
	})
}

// eachItem iterates over pages. next returns the page of q and whether more follow, and moves q to the
// next page.
func eachItem[Q, T any](q Q, next func(q *Q) (page []T, more bool, err error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for q, more := q, true; more; {
			page, behind, err := next(&q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
			more = behind
		}
	}
}
