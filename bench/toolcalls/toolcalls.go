// Package toolcalls compares the tools of inbox-mcp, over stdio and over HTTP, with the plain calls
// that they make: how soon wait_for_otp returns a code, and how many list_inboxes a client makes.
//
// It is a client of the Model Context Protocol by the official SDK. It does not know how the tool
// server is made.
package toolcalls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"inboxd/bench"
	"inboxd/bench/drive"
	"inboxd/http/client"
)

// Options shape the load. The tags are for the command line.
type Options struct {
	Program string `name:"inbox-mcp" help:"The inbox-mcp binary to start. Default: ./bin/inbox-mcp, else it is built from ./cmd/inbox-mcp." type:"path"`
	Calls   int    `help:"Calls of each tool and of each plain call; a wait takes one message." default:"2000" least:"1" most:"9000"`
	Rounds  int    `help:"Rounds of each kind of caller." default:"5" least:"1"`
}

const (
	listed   = 10                   // inboxes of the account, at least
	waitFor  = 50                   // seconds that a wait asks for
	askAhead = 5 * time.Millisecond // for the request of a reader to reach the service before its message
)

// load is one run.
type load struct {
	bed      *bench.Bed
	opts     Options
	api      *client.Client
	sessions []*mcp.ClientSession
	mail     *drive.SMTPConn
	sent     int
}

var transports = []string{"stdio", "HTTP"} // of the sessions, in order

// Run does all of it.
func Run(ctx context.Context, bed *bench.Bed, opts Options) (err error) {
	dir, err := bed.Folder("tools-")
	if err != nil {
		return err
	}
	path, err := drive.FindProgram(ctx, "inbox-mcp", opts.Program, dir)
	if err != nil {
		return err
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(path, append(args, "--base-url", drive.BaseURL(bed.Server.HTTP))...)
		cmd.Env = append(os.Environ(), "INBOX_API_KEY="+bed.Keys[0])
		return cmd
	}
	addr, err := drive.FreePort()
	if err != nil {
		return err
	}
	server, err := drive.Launch("inbox-mcp", command("--http", addr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if err := server.AwaitPorts(ctx, addr); err != nil {
		return err
	}
	l := &load{bed: bed, opts: opts, api: client.New(drive.BaseURL(bed.Server.HTTP), bed.Keys[0])}
	for _, transport := range []mcp.Transport{
		&mcp.CommandTransport{Command: command()},
		&mcp.StreamableClientTransport{Endpoint: "http://" + addr + "/mcp", DisableStandaloneSSE: true},
	} {
		s, err := mcp.NewClient(&mcp.Implementation{Name: "inbox-bench", Version: "1"}, nil).Connect(ctx, transport, nil)
		if err != nil {
			return fmt.Errorf("connect to inbox-mcp: %w", err)
		}
		defer s.Close()
		l.sessions = append(l.sessions, s)
	}
	if l.mail, err = drive.DialSMTP(ctx, bed.Server.SMTP); err != nil {
		return err
	}
	defer l.mail.Close()
	if err := l.waits(ctx); err != nil {
		return err
	}
	return l.lists(ctx)
}

// call returns the structured result of a tool.
func call(ctx context.Context, s *mcp.ClientSession, tool string, args map[string]any) (map[string]any, error) {
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err
	}
	result, ok := r.StructuredContent.(map[string]any)
	if r.IsError || !ok {
		text, _ := json.Marshal(r.Content)
		return nil, fmt.Errorf("%s: %s", tool, text)
	}
	return result, nil
}

// compare runs the tool over each transport in turns with the plain call.
func (l *load) compare(ctx context.Context, name string, plain drive.Side, tool func(i int) drive.Side) error {
	for i := range l.sessions {
		results, err := drive.Alternate(ctx, name, l.opts.Rounds, tool(i), plain)
		if err != nil {
			return err
		}
		l.bed.Report.Compare(results)
	}
	return nil
}

// waits measures, one message at a time, from its final dot to its code.
func (l *load) waits(ctx context.Context) error {
	inboxes, err := l.bed.CreateInboxes(ctx, l.bed.Keys[:1], len(l.sessions)+1)
	if err != nil {
		return err
	}
	last, to := int64(0), inboxes[len(l.sessions)].Address
	plain := l.reader("long poll", to, func(ctx context.Context) (string, error) {
		m, err := l.api.Latest(ctx, to, client.LatestQuery{After: last, Wait: waitFor * time.Second, OTP: true})
		if m == nil {
			return "", err
		}
		last = m.ID
		return m.OTPCode, err
	})
	return l.compare(ctx, "final dot to code", plain, func(i int) drive.Side {
		to := inboxes[i].Address
		return l.reader("wait_for_otp over "+transports[i], to, func(ctx context.Context) (string, error) {
			got, err := call(ctx, l.sessions[i], "wait_for_otp", map[string]any{"address": to, "timeout": waitFor})
			return fmt.Sprint(got["otp_code"]), err
		})
	})
}

// side makes its share of the calls in each round.
func (l *load) side(target string, call func(context.Context) (took time.Duration, err error)) drive.Side {
	return drive.Side{Target: target, Run: func(ctx context.Context, round int) (drive.Round, error) {
		r := drive.NewRound()
		from, to := drive.Share(l.opts.Calls, round, l.opts.Rounds)
		for range to - from {
			took, err := call(ctx)
			if err != nil {
				return r, errors.Join(err, context.Cause(ctx))
			}
			r.Record(took)
			r.Elapsed += took
		}
		return r, nil
	}}
}

// reader is a side that sends one message after the other while next waits for its code.
func (l *load) reader(target, to string, next func(context.Context) (code string, err error)) drive.Side {
	return l.side(target, func(ctx context.Context) (took time.Duration, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var got string
		var at time.Time
		read := make(chan error, 1)
		go func() { // ends with the message, or with ctx
			code, err := next(ctx)
			got, at = code, time.Now()
			read <- err
		}()
		time.Sleep(askAhead)
		l.sent++
		code := drive.CodeOf(l.sent)
		dot, err := l.mail.Send(to, drive.SignInMail(time.Now(), drive.MailSize).Render(nil, code, strconv.Itoa(l.sent)))
		if err != nil {
			cancel()
		}
		if err = errors.Join(err, <-read); err == nil && got != code {
			err = fmt.Errorf("code %q, want %q", got, code)
		}
		return at.Sub(dot), err
	})
}

// lists calls list_inboxes again and again.
func (l *load) lists(ctx context.Context) error {
	if _, err := l.bed.CreateInboxes(ctx, l.bed.Keys[:1], listed); err != nil {
		return err
	}
	plain := l.lister("API call", func(ctx context.Context) (n int, err error) {
		for _, err = range l.api.Inboxes(ctx) {
			n++
		}
		return n, err
	})
	return l.compare(ctx, "list_inboxes", plain, func(i int) drive.Side {
		return l.lister("tool over "+transports[i], func(ctx context.Context) (int, error) {
			got, err := call(ctx, l.sessions[i], "list_inboxes", nil)
			inboxes, _ := got["inboxes"].([]any)
			return len(inboxes), err
		})
	})
}

func (l *load) lister(target string, list func(context.Context) (int, error)) drive.Side {
	return l.side(target, func(ctx context.Context) (time.Duration, error) {
		from := time.Now()
		n, err := list(ctx)
		if err == nil && n < listed {
			err = fmt.Errorf("%d inboxes, want %d or more", n, listed)
		}
		return time.Since(from), err
	})
}
