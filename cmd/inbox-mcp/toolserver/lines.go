package toolserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine limits one line of input, in bytes: a message with the longest texts fits.
const maxLine = 8 << 20

// firstUnbatched is the first revision of the protocol without batches.
const firstUnbatched = "2025-06-18"

// lineConn is a connection on which each message is a line. It responds itself to a line that is not a
// valid message, and continues.
type lineConn struct {
	messages     chan jsonrpc.Message // to the goroutine that serves the connection
	inputEnded   chan struct{}        // no more messages are passed on
	readerClosed chan struct{}        // nobody reads messages any more
	answerSent   chan struct{}        // gets a value after a call was responded to
	endOnce      sync.Once
	closeOnce    sync.Once

	writeMutex sync.Mutex
	out        io.Writer

	mu             sync.Mutex
	openCalls      map[jsonrpc.ID]*batch // calls without a response; nil: not part of a batch
	pendingWrites  int                   // responses that are being written
	initializeID   jsonrpc.ID            // id of the initialize request
	agreedRevision string                // agreed on by initialize; empty before
}

// batch is several messages on one line, whose responses are also on one line.
type batch struct {
	openCount int
	answers   []json.RawMessage
}

func newLines(out io.Writer) *lineConn {
	return &lineConn{
		out: out, messages: make(chan jsonrpc.Message), inputEnded: make(chan struct{}), readerClosed: make(chan struct{}),
		answerSent: make(chan struct{}, 1), openCalls: map[jsonrpc.ID]*batch{},
	}
}

// readAll passes on messages until the input ends.
func (c *lineConn) readAll(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, whole, err := readLine(r)
		switch {
		case !whole:
			c.refuseMessage(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("Invalid Request: a message may have at most %d bytes", maxLine))
		case len(line) > 0:
			c.takeLine(line)
		}
		if err != nil {
			return
		}
		select {
		case <-c.readerClosed:
			return
		case <-c.inputEnded:
			return
		default:
		}
	}
}

// readLine returns a line without its line end. For a line that is too long it returns nothing and
// false.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxLine; whole {
			line = append(line, part...)
		} else {
			line = nil
		}
		if err != bufio.ErrBufferFull {
			return bytes.TrimSpace(line), whole, err
		}
	}
}

// takeLine passes on the messages of a line.
func (c *lineConn) takeLine(line []byte) {
	if !json.Valid(line) {
		c.refuseMessage(nil, jsonrpc.CodeParseError, "Parse error: the line is not valid JSON")
		return
	}
	if line[0] == '[' {
		c.takeBatch(line)
		return
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.refuseMessage(idOf(line), jsonrpc.CodeInvalidRequest, "Invalid Request: "+err.Error())
		return
	}
	if r, ok := m.(*jsonrpc.Response); ok && r.Result == nil && r.Error == nil {
		c.refuseMessage(idOf(line), jsonrpc.CodeInvalidRequest, "Invalid Request: the method is missing")
		return
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		if asked := revisionOf(r); asked != "" && !slices.Contains(mcp.SupportedProtocolVersions(), asked) {
			_ = c.writeLine(unsupportedRevision(r.ID.Raw(), asked)) // ignored as in refuse
			return
		}
	}
	c.deliverMessage(m, nil)
}

// revisionOf returns the revision that a request claims to follow; those from 2026-07-28 on name
// it.
func revisionOf(r *jsonrpc.Request) string {
	if !bytes.Contains(r.Params, []byte(mcp.MetaKeyProtocolVersion)) {
		return ""
	}
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	if json.Unmarshal(r.Params, &params) != nil {
		return ""
	}
	asked, _ := params.Meta[mcp.MetaKeyProtocolVersion].(string)
	return asked
}

func (c *lineConn) takeBatch(line []byte) {
	var parts []json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil || len(parts) == 0 || !c.takesBatches() {
		c.refuseMessage(nil, jsonrpc.CodeInvalidRequest, "Invalid Request: a batch is not part of this revision of the protocol; send one message on each line")
		return
	}
	b, seen := &batch{}, map[jsonrpc.ID]bool{}
	var good []jsonrpc.Message
	for _, part := range parts {
		m, err := jsonrpc.DecodeMessage(part)
		r, _ := m.(*jsonrpc.Request)
		call := r != nil && r.IsCall()
		if call && (seen[r.ID] || c.inUse(r.ID)) {
			err = errInUse
		}
		if err != nil {
			b.answers = append(b.answers, refusalOf(idOf(part), jsonrpc.CodeInvalidRequest, "Invalid Request: "+err.Error()))
			continue
		}
		if call {
			b.openCount++
			seen[r.ID] = true
		}
		good = append(good, m)
	}
	if b.openCount == 0 && len(b.answers) > 0 {
		_ = c.writeLine(joinAnswers(b.answers)) // the next write reports a lost client
	}
	for _, m := range good {
		c.deliverMessage(m, b)
	}
}

var errInUse = errors.New("the id is in use")

func (c *lineConn) inUse(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.openCalls[id]
	return open
}

func (c *lineConn) takesBatches() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agreedRevision != "" && c.agreedRevision < firstUnbatched
}

// deliverMessage passes on a message. A call counts as running before anything else sees it.
func (c *lineConn) deliverMessage(m jsonrpc.Message, b *batch) {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		if _, twice := c.openCalls[r.ID]; twice {
			c.mu.Unlock()
			c.refuseMessage(r.ID.Raw(), jsonrpc.CodeInvalidRequest, "Invalid Request: "+errInUse.Error())
			return
		}
		c.openCalls[r.ID] = b
		if r.Method == "initialize" {
			c.initializeID = r.ID
		}
		c.mu.Unlock()
	}
	select {
	case c.messages <- m:
	case <-c.readerClosed:
	case <-c.inputEnded:
	}
}

// noteRevision records the revision in the response to initialize.
func (c *lineConn) noteRevision(r *jsonrpc.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ID != c.initializeID || r.Error != nil || c.agreedRevision != "" {
		return
	}
	var said struct{ ProtocolVersion string }
	if json.Unmarshal(r.Result, &said) == nil {
		c.agreedRevision = said.ProtocolVersion
	}
}

// batchOutput returns what to write after a call was responded to: nothing while other calls of its
// batch are running. The call's id is free from then on: the client may reuse it when it reads the
// response.
func (c *lineConn) batchOutput(id jsonrpc.ID, answer []byte) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.openCalls[id]
	delete(c.openCalls, id)
	if b != nil {
		b.answers = append(b.answers, answer)
		if b.openCount--; b.openCount > 0 {
			return nil, false
		}
		answer = joinAnswers(b.answers)
	}
	c.pendingWrites++
	return answer, true
}

func joinAnswers(parts []json.RawMessage) []byte {
	return append(append([]byte{'['}, bytes.Join(rawParts(parts), []byte{','})...), ']')
}

func rawParts(parts []json.RawMessage) [][]byte {
	out := make([][]byte, len(parts))
	for i := range parts {
		out[i] = parts[i]
	}
	return out
}

// answerWritten counts a response as written.
func (c *lineConn) answerWritten() {
	c.mu.Lock()
	c.pendingWrites--
	c.mu.Unlock()
	select {
	case c.answerSent <- struct{}{}:
	default:
	}
}

// atWork reports whether responses are still to be written.
func (c *lineConn) atWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.openCalls)+c.pendingWrites > 0
}

// writeLine writes one line.
func (c *lineConn) writeLine(message []byte) error {
	c.writeMutex.Lock()
	defer c.writeMutex.Unlock()
	_, err := c.out.Write(append(message, '\n'))
	return err
}

// refuseMessage responds to a line that is not a valid message.
func (c *lineConn) refuseMessage(id any, code int, says string) {
	_ = c.writeLine(refusalOf(id, code, says)) // the next response reports a lost client
}

// refusalOf returns an error of JSON-RPC 2.0 (section 5.1). A nil id becomes null: the request is
// unknown.
func refusalOf(id any, code int, says string) []byte { return refusalWith(id, code, says, nil) }

// unsupportedRevision returns the error for an unknown revision of the protocol, with the supported
// ones.
func unsupportedRevision(id any, asked string) []byte {
	return refusalWith(id, mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version",
		mcp.UnsupportedProtocolVersionData{Supported: mcp.SupportedProtocolVersions(), Requested: asked})
}

func refusalWith(id any, code int, says string, data any) []byte {
	b, err := encodeJSON(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   any    `json:"error"`
	}{"2.0", id, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{code, says, data}})
	if err != nil {
		panic(err) // cannot happen: the id was decoded from JSON
	}
	return b
}

// idOf returns the id of an invalid message, if it has one.
func idOf(line []byte) any {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 {
		return nil
	}
	switch m.ID[0] {
	case '"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return m.ID
	}
	return nil
}
