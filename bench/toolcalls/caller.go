package toolcalls

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
)

// revision is what the load speaks: the newest that has a handshake, so that both transports are
// asked in the same words.
const revision = "2025-11-25"

// endWithin is how long a tool server may take to end.
const endWithin = 5 * time.Second

// caller calls tools, one at a time.
type caller interface {
	// call returns the structured content of a result. A tool error is an error.
	call(ctx context.Context, name string, args map[string]any) (json.RawMessage, error)
	Close() error
}

// reply is a message of the tool server, of which only answers have an id.
type reply struct {
	ID     *int64
	Error  *struct{ Message string }
	Result struct {
		IsError           bool
		StructuredContent json.RawMessage
		Content           []struct{ Text string }
		Tools             []struct{ Name string }
	}
}

func (r *reply) outcome() (json.RawMessage, error) {
	switch {
	case r.Error != nil:
		return nil, errors.New(r.Error.Message)
	case r.Result.IsError && len(r.Result.Content) > 0:
		return nil, errors.New(r.Result.Content[0].Text)
	case r.Result.IsError:
		return nil, errors.New("a tool error without a word")
	}
	return r.Result.StructuredContent, nil
}

func request(id int64, method string, params any) ([]byte, error) {
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

func toCall(id int64, name string, args map[string]any) ([]byte, error) {
	return request(id, "tools/call", map[string]any{"name": name, "arguments": args})
}

// program is a tool server that runs.
type program struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	says *bufio.Reader // what it says to people
	done chan error    // what came of it, once
}

// run starts inbox-mcp. It dies with us, even when we are killed.
func run(bed *bench.Bed, path string, args ...string) (*program, error) {
	p := &program{cmd: exec.Command(path, append([]string{"--base-url", drive.BaseURL(bed.Server.HTTP)}, args...)...), done: make(chan error, 1)}
	p.cmd.Env = append(p.cmd.Environ(), "INBOX_API_KEY="+bed.Keys[0])
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	says, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	p.out, p.says = bufio.NewReaderSize(out, 1<<20), bufio.NewReader(says)
	return p, p.cmd.Start()
}

// Close ends it by closing its standard input, and by SIGTERM where that means nothing.
func (p *program) Close() error {
	_ = p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	go func() { p.done <- p.cmd.Wait() }()
	select {
	case err := <-p.done:
		return err
	case <-time.After(endWithin):
		_ = p.cmd.Process.Kill()
		return errors.Join(fmt.Errorf("the tool server has not ended within %v", endWithin), <-p.done)
	}
}

// stdio is a client on the pipes of a tool server of its own.
type stdio struct {
	*program
	last int64 // id that was given
}

// startStdio returns a client that knows the tools.
func startStdio(bed *bench.Bed, path string) (*stdio, error) {
	p, err := run(bed, path)
	if err != nil {
		return nil, err
	}
	s := &stdio{program: p}
	if err := s.greet(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// greet does the handshake and lists the tools.
func (s *stdio) greet() error {
	hello := map[string]any{"protocolVersion": revision, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "inbox-bench", "version": "1"}}
	if _, err := s.ask("initialize", hello); err != nil {
		return err
	}
	if _, err := s.in.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")); err != nil {
		return err
	}
	listed, err := s.ask("tools/list", map[string]any{})
	if err == nil && len(listed.Result.Tools) == 0 {
		err = errors.New("tools/list is empty")
	}
	return err
}

// ask sends a request and reads lines up to its answer.
func (s *stdio) ask(method string, params any) (*reply, error) {
	s.last++
	line, err := request(s.last, method, params)
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("no answer to %s: %w", method, err)
		}
		var r reply
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%.100q: %w", line, err)
		}
		if r.ID != nil && *r.ID == s.last {
			return &r, nil
		}
	}
}

func (s *stdio) call(_ context.Context, name string, args map[string]any) (json.RawMessage, error) {
	r, err := s.ask("tools/call", map[string]any{"name": name, "arguments": args})
	if err != nil {
		return nil, err
	}
	return r.outcome()
}

// overHTTP is a client of a tool server that serves many.
type overHTTP struct {
	url    string
	client *http.Client
}

// startHTTP starts a tool server on a free port and returns where it is.
func startHTTP(bed *bench.Bed, path string) (*program, string, error) {
	p, err := run(bed, path, "--http", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	line, err := p.says.ReadString('\n')
	ready, ok := drive.ParseReady("inbox-mcp", line)
	if err != nil || !ok {
		return nil, "", errors.Join(fmt.Errorf("inbox-mcp says %q instead of being ready", line), err, p.Close())
	}
	go io.Copy(io.Discard, p.says) // ends with the process
	return p, "http://" + ready["http"] + "/mcp", nil
}

// newHTTP returns a client with a connection of its own.
func newHTTP(url string) *overHTTP {
	return &overHTTP{url, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}}
}

func (c *overHTTP) Close() error {
	c.client.CloseIdleConnections()
	return nil
}

func (c *overHTTP) call(ctx context.Context, name string, args map[string]any) (json.RawMessage, error) {
	body, err := toCall(1, name, args)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", revision)
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("%s: %s", resp.Status, said)
	}
	return answerOf(resp)
}

// answerOf reads the stream up to the answer, and to its end, so that the connection is used again.
func answerOf(resp *http.Response) (out json.RawMessage, err error) {
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	err = errors.New("a stream without an answer")
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok || strings.TrimSpace(data) == "" {
			continue
		}
		var r reply
		if bad := json.Unmarshal([]byte(data), &r); bad != nil {
			return nil, bad
		}
		if r.ID != nil {
			out, err = r.outcome()
		}
	}
	return out, errors.Join(err, lines.Err())
}
