package client

import (
	"context"
	"iter"
)

// EachMessage goes through the messages of an inbox, newest first, page after page of q.Limit. It ends
// after an error.
func EachMessage(ctx context.Context, c *Client, address string, q MessageQuery) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		for q := q; ; {
			page, err := c.Messages(ctx, address, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Emails {
				if !yield(&page.Emails[i], nil) {
					return
				}
			}
			if !page.HasMore || len(page.Emails) == 0 {
				return
			}
			q.Before = page.Emails[len(page.Emails)-1].ID
		}
	}
}

// EachOfAll goes through the messages of all inboxes of the account like EachMessage.
func EachOfAll(ctx context.Context, c *Client, q AllQuery) iter.Seq2[*InboxMessage, error] {
	return func(yield func(*InboxMessage, error) bool) {
		for q := q; ; {
			page, err := c.AllMessages(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Emails {
				if !yield(&page.Emails[i], nil) {
					return
				}
			}
			if q.Cursor = page.NextCursor; q.Cursor == "" {
				return
			}
		}
	}
}
