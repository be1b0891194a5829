// Package fakes holds the servers that a load starts next to the one it measures: a constant
// response that polls are compared with, and the DNS that the server asks. It knows nothing of
// loads and of what is measured, and listens on loopback only.
package fakes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"

	"github.com/valyala/fasthttp"
)

// Constant gives the same response to every request until ctx ends: the least an HTTP server
// built like ours can do. With status 200 it is JSON of size bytes; with 304, which has no
// body, it is a head of size bytes. It listens on addr and prints a ready line to w. It is
// meant to run as a process of its own, so that it shares the cores with the client just as
// the measured server does.
func Constant(ctx context.Context, addr string, status, size int, w io.Writer) error {
	if err := OnLoopback(addr); err != nil {
		return err
	}
	handler, err := handle(status, size)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	srv := &fasthttp.Server{Handler: handler}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }() // ends when ln is closed
	fmt.Fprintf(w, "constant ready http=%s\n", ln.Addr())
	select {
	case err = <-failed:
		return err
	case <-ctx.Done():
	}
	ln.Close() // idle keep-alive connections end with the process
	<-failed
	return nil
}

func handle(status, size int) (fasthttp.RequestHandler, error) {
	switch status {
	case fasthttp.StatusOK:
		body := bodyOf(size)
		return func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("application/json")
			ctx.Response.SetBodyRaw(body)
		}, nil
	case fasthttp.StatusNotModified:
		tag := tagOf(size)
		return func(ctx *fasthttp.RequestCtx) {
			ctx.SetStatusCode(fasthttp.StatusNotModified)
			ctx.Response.Header.SetBytesV(fasthttp.HeaderETag, tag)
		}, nil
	}
	return nil, fmt.Errorf("--status: invalid status %d (200 or 304)", status)
}

// tagOf is the ETag that makes the head of a 304 size bytes long, at least the shortest.
func tagOf(size int) []byte {
	var h fasthttp.ResponseHeader
	h.SetStatusCode(fasthttp.StatusNotModified)
	h.SetServer("fasthttp") // as the server does
	h.Set(fasthttp.HeaderETag, `""`)
	h.SetNoDefaultContentType(true) // a 304 has none
	return fmt.Appendf(nil, `"%s"`, bytes.Repeat([]byte("x"), max(size-len(h.Header()), 0)))
}

// bodyOf is JSON of exactly size bytes, at least 9.
func bodyOf(size int) []byte {
	const head, tail = `{"c":"`, `"}`
	return append(append([]byte(head), bytes.Repeat([]byte("x"), max(size-len(head)-len(tail), 1))...), tail...)
}
