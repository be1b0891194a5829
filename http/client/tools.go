package client

import (
	"context"
	"encoding/json"
	"net/url"
)

// Tools returns six tools as function schemas for a model's API: format is "openai", "anthropic" or
// "gemini". It needs no credential.
func (c *Client) Tools(ctx context.Context, format string) ([]json.RawMessage, error) {
	return fetchJSON[[]json.RawMessage](ctx, c, apiCall{method: "GET", path: "/api/v1/tools", queryValues: url.Values{"format": {format}}})
}
