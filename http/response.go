package http

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
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

const (
	// answersHeld bounds what all answers above smallAnswer hold together until they are
	// written (ADR 0040); what is smaller is bounded by the number of connections.
	answersHeld = 32 << 20
	smallAnswer = 16 << 10
	// costlyAnswer takes so long to read and make that few are made at once.
	costlyAnswer = 512 << 10
	// answerPatience is how long an answer waits to be made while others hold too much.
	answerPatience = 2 * time.Second
)

// reserve waits until an answer that will hold about n bytes may be made: for memory, then for
// a turn, so that nobody who waits for memory has one.
func (r *request) reserve(n int64) error {
	if err := r.charged(n); err != nil {
		return err
	}
	return r.costly(n)
}

// charged waits for the memory.
func (r *request) charged(n int64) error {
	if n <= smallAnswer || r.charge != nil {
		return nil
	}
	if r.charge = r.server.answers.Charge(r.principal.Account); !r.charge.Await(n, r.server.patience) {
		return errCrowded
	}
	return nil
}

// widen makes the charge n, and reports whether there is room; the first time it waits for it.
func (r *request) widen(n int64) bool {
	if r.charge != nil {
		return r.charge.Set(n)
	}
	r.charge = r.server.answers.Charge(r.principal.Account)
	return r.charge.Await(n, r.server.patience)
}

// costly waits for a turn, if it takes one to go through n bytes and r has none yet.
func (r *request) costly(n int64) (err error) {
	if n > costlyAnswer && r.done == nil {
		r.done, err = r.server.turns.Wait(r.ctx)
	}
	return err
}

// settle charges what the answer really holds, until it is written; without room for it, it
// is put off. What nobody is asked a credential for is the same bytes for all.
func (r *request) settle() error {
	if r.principal == nil {
		return nil
	}
	return r.hold(r.principal.Account)
}

// hold charges it to an account.
func (r *request) hold(id account.ID) error {
	out := &r.http.Response
	if out.IsBodyStream() || len(out.Body()) <= smallAnswer {
		return nil
	}
	if r.charge == nil {
		r.charge = r.server.answers.Charge(id)
	}
	if !r.charge.Set(int64(len(out.Body()))) {
		out.Header.Del(fasthttp.HeaderETag)
		return errCrowded
	}
	r.charge.Hold(r.http)
	r.charge = nil
	return nil
}

// release gives back the turn, and what no answer holds.
func (r *request) release() {
	if r.done != nil {
		r.done()
		r.done = nil
	}
	if r.charge != nil {
		r.charge.Set(0)
		r.charge = nil
	}
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
