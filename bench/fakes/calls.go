package fakes

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Call is one call of a webhook. Its fields are the receiver's only until take returns.
type Call struct {
	At                       time.Time
	ID, Timestamp, Signature string // Standard Webhooks
	Body                     []byte
}

// Calls receives webhooks and responds to each with 200. It shares the cores with what is measured,
// so it is built like the constant response: what it computes counts as the webhooks'.
type Calls struct {
	URL    string
	server *fasthttp.Server
}

// TakeCalls opens a receiver on a free port of loopback. take is called from many goroutines.
func TakeCalls(take func(Call)) (*Calls, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &Calls{URL: "http://" + ln.Addr().String() + "/"}
	c.server = &fasthttp.Server{Handler: func(req *fasthttp.RequestCtx) {
		h := &req.Request.Header
		take(Call{time.Now(), string(h.Peek("webhook-id")), string(h.Peek("webhook-timestamp")), string(h.Peek("webhook-signature")), req.PostBody()})
	}}
	go c.server.Serve(ln) // until Close
	return c, nil
}

// Close ends all connections but those on which no call ever came, of which fasthttp does not
// know that they are idle: their other ends go with the server that was measured.
func (c *Calls) Close() error {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := c.server.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
