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

// timeFormat is the format of every time in JSON: ISO 8601, UTC, milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

func wireTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// wireTimeOrNull returns nil for the zero time.
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

// json responds with v, or returns err if it is not nil. Invalid UTF-8 in text is replaced, so that
// it does not make the response fail.
func (r *apiRequest) json(status int, v any, err error) error {
	if err != nil {
		return err
	}
	body, err := marshalJSON(v)
	if err != nil {
		return err
	}
	writeJSON(r.httpCtx, status, body)
	return nil
}

func marshalJSON(v any) ([]byte, error) { return json.Marshal(v, jsontext.AllowInvalidUTF8(true)) }

type okResponse struct {
	OK bool `json:"ok"`
}

// mapEach converts the items of a list.
func mapEach[T, U any](list []T, one func(*T) U) []U {
	out := make([]U, len(list))
	for i := range list {
		out[i] = one(&list[i])
	}
	return out
}

// ok responds {"ok":true}, or returns err if it is not nil.
func (r *apiRequest) ok(err error) error { return r.json(fasthttp.StatusOK, okResponse{true}, err) }

// writeJSON responds with a body that nobody may change afterwards.
func writeJSON(c *fasthttp.RequestCtx, status int, body []byte) {
	c.SetStatusCode(status)
	c.Response.Header.SetContentTypeBytes(typeJSON)
	c.Response.Header.SetCanonical(headerCache, cacheNever)
	c.Response.SetBodyRaw(body)
}

const (
	// answersHeld bounds the memory of all responses above smallAnswer until they are written (ADR
	// 0040). The number of connections bounds the smaller ones.
	answersHeld = 32 << 20
	smallAnswer = 16 << 10
	// costlyAnswer is the size from which reading and rendering takes so long that a turn is
	// needed.
	costlyAnswer = 512 << 10
	// answerPatience is how long a response waits for memory while others hold too much.
	answerPatience = 2 * time.Second
)

// reserveBytes waits until a response of about n bytes may be rendered: first for memory, then for a
// turn, so that nobody holds a turn while waiting for memory.
func (r *apiRequest) reserveBytes(n int64) error {
	if err := r.awaitCharge(n); err != nil {
		return err
	}
	return r.awaitTurn(n)
}

// awaitCharge waits for the memory of a response.
func (r *apiRequest) awaitCharge(n int64) error {
	if n <= smallAnswer || r.charge != nil {
		return nil
	}
	if r.charge = r.server.answerBudget.NewCharge(r.principal.Account); !r.charge.AwaitRoom(n, r.server.turnPatience) {
		return errCrowded
	}
	return nil
}

// widenCharge changes the charge to n and reports whether there is room. Only the first call waits for
// room.
func (r *apiRequest) widenCharge(n int64) bool {
	if r.charge != nil {
		return r.charge.SetBytes(n)
	}
	r.charge = r.server.answerBudget.NewCharge(r.principal.Account)
	return r.charge.AwaitRoom(n, r.server.turnPatience)
}

// awaitTurn waits for a turn if processing n bytes needs one and r has none yet.
func (r *apiRequest) awaitTurn(n int64) (err error) {
	if n > costlyAnswer && r.endTurn == nil {
		r.endTurn, err = r.server.searchTurns.WaitTurn(r.ctx)
	}
	return err
}

// settleCharge charges the real size of the response until it is written. Without room, the response
// becomes 503. Responses without a credential are not charged: they are the same bytes for
// everybody.
func (r *apiRequest) settleCharge() error {
	if r.principal == nil {
		return nil
	}
	return r.holdCharge(r.principal.Account)
}

// holdCharge charges the response to an account.
func (r *apiRequest) holdCharge(id account.ID) error {
	out := &r.httpCtx.Response
	if out.IsBodyStream() || len(out.Body()) <= smallAnswer {
		return nil
	}
	if r.charge == nil {
		r.charge = r.server.answerBudget.NewCharge(id)
	}
	if !r.charge.SetBytes(int64(len(out.Body()))) {
		out.Header.Del(fasthttp.HeaderETag)
		return errCrowded
	}
	r.charge.HoldUntilWritten(r.httpCtx)
	r.charge = nil
	return nil
}

// releaseTurn returns the turn, and the charge if no response holds it.
func (r *apiRequest) releaseTurn() {
	if r.endTurn != nil {
		r.endTurn()
		r.endTurn = nil
	}
	if r.charge != nil {
		r.charge.SetBytes(0)
		r.charge = nil
	}
}

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
