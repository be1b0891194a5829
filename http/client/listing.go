package client

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/url"
)

// listItems iterates over a paged list, which is the field name of each response. It ends after an
// error. lost converts the id of a damaged item to an item; nil: the list has none. narrow holds
// further parameters; nil: none.
func listItems[T any](ctx context.Context, c *Client, path, name string, lost func(json.RawMessage) (T, error), narrow url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := url.Values{"limit": {"1000"}}
		maps.Copy(query, narrow)
		for {
			items, next, err := fetchPage[T](ctx, c, apiCall{method: "GET", path: path, queryValues: query, requiredMember: name}, name, lost)
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

func fetchPage[T any](ctx context.Context, c *Client, k apiCall, name string, lost func(json.RawMessage) (T, error)) (items []T, next string, err error) {
	fields, err := fetchJSON[map[string]json.RawMessage](ctx, c, k)
	if err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(fields[name], &items); err != nil {
		return nil, "", err
	}
	if cursor := fields["next_cursor"]; cursor != nil {
		err = json.Unmarshal(cursor, &next)
	}
	if damaged := fields["damaged"]; damaged != nil && lost != nil && err == nil {
		var names []json.RawMessage
		err = json.Unmarshal(damaged, &names)
		for i := 0; i < len(names) && err == nil; i++ {
			var item T
			item, err = lost(names[i])
			items = append(items, item)
		}
	}
	return items, next, err
}
