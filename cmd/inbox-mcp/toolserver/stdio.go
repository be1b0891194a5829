package toolserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drain is how long calls may continue after the last message, so that the process ends within a
// second.
const drain = 700 * time.Millisecond

// ServeStdio serves one client with lines of JSON (Model Context Protocol, stdio transport) until
// in or ctx ends. Then waits return that they were cancelled, and other calls may finish within
// drain. It replaces the SDK's own transport, which ends at the first line that is not JSON.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newLines(out)
	session, err := s.mcp.Connect(context.WithoutCancel(ctx), c, nil)
	if err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.readAll(in)
	}()
	over := make(chan error, 1)
	go func() { over <- session.Wait() }()
	select {
	case <-read:
	case <-ctx.Done():
	case <-c.closed: // nobody reads our output
	}
	s.Stop()
	c.drain()
	select {
	case err = <-over:
	case <-time.After(drain / 4):
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// drain waits until running calls have responded, at most for the time drain, and then ends the
// connection. After that nothing is written.
func (c *lines) drain() {
	enough := time.NewTimer(drain)
	defer enough.Stop()
	for c.atWork() {
		select {
		case <-c.answered:
		case <-enough.C:
			c.end()
			return
		case <-c.closed:
			return
		}
	}
	c.end()
}

// Connect implements mcp.Transport.
func (c *lines) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection.
func (c *lines) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *lines) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

func (c *lines) end() { c.ending.Do(func() { close(c.ended) }) }

// Read implements mcp.Connection.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.messages:
		return m, nil
	case <-c.ended:
	case <-c.closed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, io.EOF
}

// Write implements mcp.Connection.
func (c *lines) Write(_ context.Context, m jsonrpc.Message) error {
	answer, ok := m.(*jsonrpc.Response)
	if ok {
		answer = numbered(answer)
		m = answer
	}
	b, err := jsonrpc.EncodeMessage(m)
	switch {
	case err != nil:
		return err
	case !ok:
		return c.write(b)
	}
	c.noteRevision(answer)
	if b, ok = c.together(answer.ID, b); !ok {
		return nil // other calls of its batch are running
	}
	defer c.gone()
	return c.write(b)
}

// numbered sets the error code that the SDK omits when a message comes at the wrong time.
func numbered(r *jsonrpc.Response) *jsonrpc.Response {
	if r.Error == nil {
		return r
	}
	var wire *jsonrpc.Error
	if errors.As(r.Error, &wire) && wire.Code != 0 {
		return r
	}
	fixed := *r
	fixed.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: r.Error.Error()}
	return &fixed
}
