package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"

	"github.com/valyala/fasthttp"
)

// Constant serves the same JSON answer of size bytes to every request until ctx ends: the
// least an HTTP server built like ours can do. It listens on addr and prints a ready line to
// w. It is meant to run as a process of its own, so that it shares the cores with the client
// just as the measured server does.
func Constant(ctx context.Context, addr string, size int, w io.Writer) error {
	if err := onLoopback(addr); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	body := constantBody(size)
	srv := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("application/json")
		ctx.Response.SetBodyRaw(body)
	}}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }() // ends when ln is closed
	fmt.Fprintf(w, "constant ready http=%s\n", ln.Addr())
	select {
	case err = <-failed:
		return err
	case <-ctx.Done():
	}
	ln.Close() // idle keep-alive connections end with the process; nobody waits for them
	<-failed
	return nil
}

// constantBody is JSON of exactly size bytes, at least 9.
func constantBody(size int) []byte {
	const head, tail = `{"c":"`, `"}`
	return append(append([]byte(head), bytes.Repeat([]byte("x"), max(size-len(head)-len(tail), 1))...), tail...)
}
