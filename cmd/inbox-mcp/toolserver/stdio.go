package toolserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainTimeout is how long calls may continue after the last message, so that the process ends within a
// second.
const drainTimeout = 700 * time.Millisecond

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
	case <-c.readerClosed: // nobody reads our output
	}
	s.Stop()
	c.drainCalls()
	select {
	case err = <-over:
	case <-time.After(drainTimeout / 4):
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// drainCalls waits until running calls have responded, at most for the time drain, and then ends the
// connection. After that nothing is written.
func (c *lineConn) drainCalls() {
	enough := time.NewTimer(drainTimeout)
	defer enough.Stop()
	for c.atWork() {
		select {
		case <-c.answerSent:
		case <-enough.C:
			c.endInput()
			return
		case <-c.readerClosed:
			return
		}
	}
	c.endInput()
}

// Connect implements mcp.Transport.
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection.
func (c *lineConn) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *lineConn) Close() error {
	c.closeOnce.Do(func() { close(c.readerClosed) })
	return nil
}

func (c *lineConn) endInput() { c.endOnce.Do(func() { close(c.inputEnded) }) }

// Read implements mcp.Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.messages:
		return m, nil
	case <-c.inputEnded:
	case <-c.readerClosed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, io.EOF
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	answer, ok := m.(*jsonrpc.Response)
	if ok {
		answer = withErrorCode(answer)
		m = answer
	}
	b, err := jsonrpc.EncodeMessage(m)
	switch {
	case err != nil:
		return err
	case !ok:
		return c.writeLine(b)
	}
	c.noteRevision(answer)
	if b, ok = c.batchOutput(answer.ID, b); !ok {
		return nil // other calls of its batch are running
	}
	defer c.answerWritten()
	return c.writeLine(b)
}

// withErrorCode sets the error code that the SDK omits when a message comes at the wrong time.
func withErrorCode(r *jsonrpc.Response) *jsonrpc.Response {
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
