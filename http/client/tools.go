package client

import (
	"context"
	"encoding/json"
	"net/url"
)

// Tools returns six tools as the function schemas that a model's maker takes: format is "openai",
// "anthropic" or "gemini". It needs no credential.
func (c *Client) Tools(ctx context.Context, format string) ([]json.RawMessage, error) {
	return fetch[[]json.RawMessage](ctx, c, call{method: "GET", path: "/api/v1/tools", query: url.Values{"format": {format}}})
}
