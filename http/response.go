package http

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"
)

var (
	typeJSON    = []byte("application/json")
	headerCache = []byte("Cache-Control")
	cacheNever  = []byte("no-store")
)

// timeFormat is the wire form of every time: ISO 8601, UTC, milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

func wireTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// wireTimeOrNull is null for the zero time.
func wireTimeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := wireTime(t)
	return &s
}

func stringOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// json answers with v, or with err when there is one. Text that is not UTF-8 is repaired
// rather than failing the response.
func (r *request) json(status int, v any, err error) error {
	if err != nil {
		return err
	}
	body, err := marshal(v)
	if err != nil {
		return err
	}
	writeJSON(r.http, status, body)
	return nil
}

func marshal(v any) ([]byte, error) { return json.Marshal(v, jsontext.AllowInvalidUTF8(true)) }

type okResponse struct {
	OK bool `json:"ok"`
}

// each makes the items of a list.
func each[T, U any](list []T, one func(*T) U) []U {
	out := make([]U, len(list))
	for i := range list {
		out[i] = one(&list[i])
	}
	return out
}

// ok says that it is done, unless err says that it is not.
func (r *request) ok(err error) error { return r.json(fasthttp.StatusOK, okResponse{true}, err) }

// writeJSON answers with a body that nobody will change.
func writeJSON(c *fasthttp.RequestCtx, status int, body []byte) {
	c.SetStatusCode(status)
	c.Response.Header.SetContentTypeBytes(typeJSON)
	c.Response.Header.SetCanonical(headerCache, cacheNever)
	c.Response.SetBodyRaw(body)
}

// writeDetail answers with the one form of every refusal.
func writeDetail(c *fasthttp.RequestCtx, status int, detail string) {
	body := append(make([]byte, 0, len(detail)+16), `{"detail":`...)
	writeJSON(c, status, append(appendString(body, detail), '}'))
}

// appendString appends s quoted; bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
