package http

import (
	"strings"

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
		return once.NewRequest(string(given[0]), r.route.operation(), r.http.PostBody())
	}
	return once.Request{}, fault.Field(headerOnce, "is given twice")
}

// operation is the route's name without its surface: a repeat may come by another one. Which
// inbox it is about is told by where the record is kept.
func (rt *route) operation() string {
	return rt.method + " " + strings.TrimPrefix(strings.TrimPrefix(rt.path, "/api"), "/v1")
}
