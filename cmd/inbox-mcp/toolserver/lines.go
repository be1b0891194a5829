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

// maxLine bounds one line of input, in bytes: a mail of the longest texts fits.
const maxLine = 8 << 20

// batched is the first revision without batches.
const batched = "2025-06-18"

// lines is a connection of which each message is a line. What is no message it answers itself, and goes on.
type lines struct {
	messages chan jsonrpc.Message // to who serves the connection
	ended    chan struct{}        // no more is handed on
	closed   chan struct{}        // nobody reads messages any more
	answered chan struct{}        // has an entry after a call was answered
	ending   sync.Once
	closing  sync.Once

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	open     map[jsonrpc.ID]*batch // calls without an answer; nil: it came alone
	leaving  int                   // answers that are being written
	greeting jsonrpc.ID            // of initialize
	revision string                // that was agreed on by it; empty before
}

// batch is several messages on one line, whose answers are on one line too.
type batch struct {
	left    int
	answers []json.RawMessage
}

func newLines(out io.Writer) *lines {
	return &lines{
		out: out, messages: make(chan jsonrpc.Message), ended: make(chan struct{}), closed: make(chan struct{}),
		answered: make(chan struct{}, 1), open: map[jsonrpc.ID]*batch{},
	}
}

// readAll hands on what comes until the input ends.
func (c *lines) readAll(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, whole, err := readLine(r)
		switch {
		case !whole:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("Invalid Request: a message may have at most %d bytes", maxLine))
		case len(line) > 0:
			c.take(line)
		}
		if err != nil {
			return
		}
		select {
		case <-c.closed:
			return
		case <-c.ended:
			return
		default:
		}
	}
}

// readLine returns a line without what ends it; of one that is too long, nothing and false.
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

// take hands on the messages of a line.
func (c *lines) take(line []byte) {
	if !json.Valid(line) {
		c.refuse(nil, jsonrpc.CodeParseError, "Parse error: the line is not valid JSON")
		return
	}
	if line[0] == '[' {
		c.takeBatch(line)
		return
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.refuse(idOf(line), jsonrpc.CodeInvalidRequest, "Invalid Request: "+err.Error())
		return
	}
	if r, ok := m.(*jsonrpc.Response); ok && r.Result == nil && r.Error == nil {
		c.refuse(idOf(line), jsonrpc.CodeInvalidRequest, "Invalid Request: the method is missing")
		return
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		if asked := revisionOf(r); asked != "" && !slices.Contains(mcp.SupportedProtocolVersions(), asked) {
			_ = c.write(unsupported(r.ID.Raw(), asked)) // as in refuse
			return
		}
	}
	c.hand(m, nil)
}

// revisionOf is the revision that a request says it follows, as those from 2026-07-28 do.
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

func (c *lines) takeBatch(line []byte) {
	var parts []json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil || len(parts) == 0 || !c.takesBatches() {
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "Invalid Request: a batch is not part of this revision of the protocol; send one message on each line")
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
			b.left++
			seen[r.ID] = true
		}
		good = append(good, m)
	}
	if b.left == 0 && len(b.answers) > 0 {
		_ = c.write(joined(b.answers)) // nobody to answer is found out by the next write
	}
	for _, m := range good {
		c.hand(m, b)
	}
}

var errInUse = errors.New("the id is in use")

func (c *lines) inUse(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.open[id]
	return open
}

func (c *lines) takesBatches() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision != "" && c.revision < batched
}

// hand hands on a message. A call counts as at work before anybody sees it.
func (c *lines) hand(m jsonrpc.Message, b *batch) {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		if _, twice := c.open[r.ID]; twice {
			c.mu.Unlock()
			c.refuse(r.ID.Raw(), jsonrpc.CodeInvalidRequest, "Invalid Request: "+errInUse.Error())
			return
		}
		c.open[r.ID] = b
		if r.Method == "initialize" {
			c.greeting = r.ID
		}
		c.mu.Unlock()
	}
	select {
	case c.messages <- m:
	case <-c.closed:
	case <-c.ended:
	}
}

// noteRevision learns from the answer to initialize what was agreed on.
func (c *lines) noteRevision(r *jsonrpc.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ID != c.greeting || r.Error != nil || c.revision != "" {
		return
	}
	var said struct{ ProtocolVersion string }
	if json.Unmarshal(r.Result, &said) == nil {
		c.revision = said.ProtocolVersion
	}
}

// together is what is to be written now that a call was answered: nothing while others of its batch are
// open. Its id is free from now on: whoever reads the answer may use it again at once.
func (c *lines) together(id jsonrpc.ID, answer []byte) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.open[id]
	delete(c.open, id)
	if b != nil {
		b.answers = append(b.answers, answer)
		if b.left--; b.left > 0 {
			return nil, false
		}
		answer = joined(b.answers)
	}
	c.leaving++
	return answer, true
}

func joined(parts []json.RawMessage) []byte {
	return append(append([]byte{'['}, bytes.Join(rawParts(parts), []byte{','})...), ']')
}

func rawParts(parts []json.RawMessage) [][]byte {
	out := make([][]byte, len(parts))
	for i := range parts {
		out[i] = parts[i]
	}
	return out
}

// gone counts an answer as written.
func (c *lines) gone() {
	c.mu.Lock()
	c.leaving--
	c.mu.Unlock()
	select {
	case c.answered <- struct{}{}:
	default:
	}
}

// atWork reports whether an answer is still to be written.
func (c *lines) atWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)+c.leaving > 0
}

// write writes one line.
func (c *lines) write(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(message, '\n'))
	return err
}

// refuse answers what is no message.
func (c *lines) refuse(id any, code int, says string) {
	_ = c.write(refusalOf(id, code, says)) // that nobody reads is found out by the next answer
}

// refusalOf is an error of JSON-RPC 2.0 (section 5.1); a nil id is null: it isn't known whose error it is.
func refusalOf(id any, code int, says string) []byte { return refusalWith(id, code, says, nil) }

// unsupported says that nobody here knows a revision of the protocol, and which ones are known.
func unsupported(id any, asked string) []byte {
	return refusalWith(id, mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version",
		mcp.UnsupportedProtocolVersionData{Supported: mcp.SupportedProtocolVersions(), Requested: asked})
}

func refusalWith(id any, code int, says string, data any) []byte {
	b, err := encode(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   any    `json:"error"`
	}{"2.0", id, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{code, says, data}})
	if err != nil {
		panic(err) // an id that was decoded
	}
	return b
}

// idOf is the id of what is no message, where it has one.
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
