package smtp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/internal/base/fault"
)

// house is an InboxReceiver with a fixed set of inboxes.
type house struct {
	mu       sync.Mutex
	messages []mail
	// enter, if not nil, receives a value when Receive begins. Receive then waits for leave or for
	// the end of its context.
	enter, leave chan struct{}
}

type mail struct {
	env Envelope
	raw string
}

// accepts holds the result of Accepts for each address; others have no inbox.
var accepts = map[string]error{
	"m@inbox.test": nil, "n@inbox.test": nil, "o@inbox.test": nil, "m+tag@inbox.test": nil,
	"m+0123456789-0123456789-0123456789-0123456789-0123456789-0123456789@inbox.test": nil,
	"postmaster@postmaster.test": nil,
	"ü@inbox.test":               nil, "m@xn--bcher-kva.test": nil,
	"late-full@inbox.test": nil, "late-gone@inbox.test": nil, "late-disk@inbox.test": nil,
	"late-bug@inbox.test": nil, "late-panic@inbox.test": nil, "late-invalid@inbox.test": nil,
	"late-busy@inbox.test": nil, "late-moved@inbox.test": nil, "late-large@inbox.test": nil,
	"full@inbox.test":  fault.New(fault.InboxFull, "full"),
	"disk@inbox.test":  fault.New(fault.StorageFull, "disk"),
	"busy@inbox.test":  fault.New(fault.TemporarilyUnavailable, "busy"),
	"moved@inbox.test": fault.New(fault.MovedAway, "moved"),
	"bug@inbox.test":   errors.New("secret cause\r\n250 injected"),
}

// receives holds the result of Receive by first recipient; for others it is nil.
var receives = map[string]error{
	"late-full@inbox.test":    fault.New(fault.InboxFull, "full"),
	"late-gone@inbox.test":    fault.New(fault.NoInbox, "gone"),
	"late-disk@inbox.test":    fault.New(fault.StorageFull, "disk"),
	"late-busy@inbox.test":    fault.New(fault.TemporarilyUnavailable, "busy"),
	"late-moved@inbox.test":   fault.New(fault.MovedAway, "moved"),
	"late-large@inbox.test":   fault.New(fault.TooLarge, "large"),
	"late-invalid@inbox.test": fault.New(fault.InvalidRequest, "invalid"),
	"late-bug@inbox.test":     errors.New("secret cause"),
}

func (h *house) CheckRecipient(_ context.Context, rcpt string) error {
	if rcpt == "panic@inbox.test" {
		panic("Accepts panics")
	}
	if err, ok := accepts[rcpt]; ok {
		return err
	}
	return fault.New(fault.NoInbox, "none")
}

func (h *house) Receive(ctx context.Context, env Envelope, raw []byte) error {
	if env.RcptTo[0] == "late-panic@inbox.test" {
		panic("Receive panics")
	}
	if h.enter != nil {
		h.enter <- struct{}{}
		select {
		case <-h.leave:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := receives[env.RcptTo[0]]; err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = append(h.messages, mail{env, string(raw)})
	return nil
}

// received returns the messages since the last call.
func (h *house) received() []mail {
	h.mu.Lock()
	defer h.mu.Unlock()
	messages := h.messages
	h.messages = nil
	return messages
}

// body returns what the peer sent.
func (m mail) body() string { return m.raw[m.env.TraceLen:] }

func bodies(messages []mail) []string {
	var all []string
	for _, m := range messages {
		all = append(all, m.body())
	}
	return all
}

// testClock is the time of our clock in tests.
var testClock = time.Date(2026, 11, 21, 10, 11, 12, 0, time.UTC)

// serve runs a server on a free port until the test ends, and returns its address.
func serve(t testing.TB, opts Options, in InboxReceiver) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, l, opts, in), l.Addr().String()
}

// serveOn runs a server on l until the test ends.
func serveOn(t testing.TB, l net.Listener, opts Options, in InboxReceiver) *Server {
	opts.Domain = cmp.Or(opts.Domain, "mx.test")
	opts.Clock = func() time.Time { return testClock }
	s := New(opts, in)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // only a client that a failed test left behind is still open
		s.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Error("Serve:", err)
		}
		for end := time.Now().Add(30 * time.Second); s.openCount() > 0 && time.Now().Before(end); {
			<-s.sessionEnded
		}
		s.admissionControl.mu.Lock()
		defer s.admissionControl.mu.Unlock()
		if n := s.admissionControl.activeCount; n != 0 {
			t.Errorf("%d mails that have ended are still under way", n)
		}
	})
	return s
}

// logTo returns a logger that stores its lines.
func logTo(buf *logBuffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type logBuffer struct {
	mu    sync.Mutex
	b     strings.Builder
	wrote chan struct{} // if not nil, receives a value, if there is room, for each line
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.wrote <- struct{}{}:
	default:
	}
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// await waits until text has been logged.
func (l *logBuffer) await(t *testing.T, text string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for !strings.Contains(l.String(), text) {
		select {
		case <-l.wrote:
		case <-limit:
			t.Fatalf("%q was not logged in\n%s", text, l)
		}
	}
}
