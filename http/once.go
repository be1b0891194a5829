package http

import (
	"inboxd/internal/fault"
	"inboxd/internal/once"
)

const headerOnce = "Idempotency-Key"

// once names the request by its Idempotency-Key (specification, Repeats); without that header
// it is the zero Request. Handlers that honour the header call it, in the place of the
// checks of shape.
func (r *request) once() (once.Request, error) {
	h := &r.http.Request.Header
	switch given := h.PeekAll(headerOnce); len(given) {
	case 0:
		return once.Request{}, nil
	case 1:
		return once.NewRequest(string(given[0]), r.route.method, string(r.http.Path()), r.http.PostBody())
	}
	return once.Request{}, fault.Field(headerOnce, "is given twice")
}
