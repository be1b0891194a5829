package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
)

// listing goes through the pages of a list that stands under name in each answer. It ends
// after an error.
func listing[T any](ctx context.Context, c *Client, path, name string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := url.Values{"limit": {"1000"}}
		for {
			items, next, err := page[T](ctx, c, call{method: "GET", path: path, query: query}, name)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			query.Set("cursor", next)
		}
	}
}

func page[T any](ctx context.Context, c *Client, k call, name string) (items []T, next string, err error) {
	fields, err := fetch[map[string]json.RawMessage](ctx, c, k)
	if err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(fields[name], &items); err != nil {
		return nil, "", err
	}
	if cursor := fields["next_cursor"]; cursor != nil {
		err = json.Unmarshal(cursor, &next)
	}
	return items, next, err
}
