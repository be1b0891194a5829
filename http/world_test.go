package http

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// world is a server on a loopback port, with the fakes behind it and an adjustable clock.
type world struct {
	t        testing.TB
	server   *Server
	inboxes  *fakeInboxes
	accounts *fakeAccounts
	diary    *fakeCalendars
	addr     string
	clock    atomic.Int64 // Unix milliseconds
	log      *syncBuffer
	client   *nethttp.Client
	unbound  bool // exchanges are not validated by the contract: a test makes thousands of the same kind
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var begin = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func (w *world) now() time.Time          { return time.UnixMilli(w.clock.Load()) }
func (w *world) advance(d time.Duration) { w.clock.Add(d.Milliseconds()) }

// Both fakes implement parts of some interfaces.
type (
	theInboxes struct {
		*fakeAccounts
		mail *fakeInboxes
	}
	theSending struct {
		*fakeAccounts
		mail *fakeInboxes
	}
)

func (f theInboxes) Do(ctx context.Context, address string, cmd inbox.Command) (inbox.CommandOutcome, error) {
	return f.mail.Do(ctx, address, cmd)
}

func (f theSending) SendMessage(ctx context.Context, address string, l inbox.SendRequest) (int64, error) {
	return f.mail.Send(ctx, address, l)
}

func (f theSending) SendOnce(ctx context.Context, address string, l inbox.SendRequest, req idempotency.Request, describe func(inbox.CommandOutcome) []byte) (idempotency.FirstResult, error) {
	return f.mail.SendOnce(ctx, address, l, req, describe)
}

// prepare makes a world that does not listen.
func prepare(t testing.TB, change ...func(*Options)) *world {
	w := &world{t: t, log: &syncBuffer{}}
	w.clock.Store(begin.UnixMilli())
	w.inboxes = newFakeInboxes(w.now)
	w.accounts = newFakeAccounts(w.now, w.inboxes)
	w.diary = newFakeCalendars(w.inboxes, w.accounts)
	opts := Options{Now: w.now, Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, c := range change {
		c(&opts)
	}
	w.server = New(opts, Ports{
		Credentials: w.accounts, Views: w.inboxes, Auth: w.accounts, Keys: w.accounts, Inboxes: theInboxes{w.accounts, w.inboxes},
		Messages: w.inboxes, Events: w.accounts, Sending: theSending{w.accounts, w.inboxes}, Webhooks: w.accounts, Domains: w.accounts,
		Meetings: w.diary, Feeds: w.diary, Owners: w.diary, Simulation: w.inboxes,
	})
	return w
}

func start(t testing.TB, change ...func(*Options)) *world {
	w := prepare(t, change...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.serve(ln)
	return w
}

func (w *world) serve(ln net.Listener) {
	w.addr = ln.Addr().String()
	w.client = &nethttp.Client{Transport: &nethttp.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, Timeout: 30 * time.Second}
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ln) }()
	w.t.Cleanup(func() {
		w.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := w.server.Shutdown(ctx); err != nil {
			w.t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			w.t.Errorf("Serve: %v", err)
		}
	})
}

type reply struct {
	status int
	header nethttp.Header
	body   string
}

// detail returns the sentence of an error response.
func (r reply) detail() string {
	var d struct{ Detail string }
	json.Unmarshal([]byte(r.body), &d)
	return d.Detail
}

func (r reply) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
}

// object decodes a JSON object and returns the member at a path.
func (r reply) object(t testing.TB, path ...string) any {
	t.Helper()
	var v any
	r.into(t, &v)
	for _, p := range path {
		v = v.(map[string]any)[p]
	}
	return v
}

// call sends a request; header contains name, value pairs in addition to the credential.
func (w *world) call(method, path, token, body string, header ...string) reply {
	w.t.Helper()
	r, err := w.try(method, path, token, body, header...)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) try(method, path, token, body string, header ...string) (reply, error) {
	req, err := nethttp.NewRequest(method, "http://"+w.addr+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if strings.HasPrefix(token, "svc_sess_") {
		req.Header.Set("Authorization", "Bearer "+token)
	} else if token != "" {
		req.Header.Set("X-API-Key", token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	got := reply{resp.StatusCode, resp.Header, string(b)}
	if resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		w.t.Errorf("%s %s: %d lets browsers guess: %v", method, path, resp.StatusCode, resp.Header)
	}
	if err == nil {
		w.mirror(req, body, got)
	}
	return got, err
}

// mirror validates an exchange by the contract.
func (w *world) mirror(req *nethttp.Request, sent string, got reply) {
	if w.unbound {
		return
	}
	m, err := theMirror()
	if err == nil {
		err = m.check(req, sent, got)
	}
	if err != nil {
		w.t.Errorf("contract: %v", err)
	}
}

// expect fails unless the response has this status.
func (w *world) expect(status int, r reply) reply {
	w.t.Helper()
	if r.status != status {
		w.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

const (
	alice = "alice@example.com"
	bob   = "bob@example.com"
)

// signUp creates an account, bypassing the rate limit, and returns its session token.
func (w *world) signUp(email string) string {
	in, err := w.accounts.SignUp(context.Background(), email, "correct horse")
	if err != nil {
		w.t.Fatal(err)
	}
	return in.Token
}

func (w *world) idOf(email string) account.ID {
	w.accounts.mu.RLock()
	defer w.accounts.mu.RUnlock()
	return w.accounts.byEmail[email]
}

func (w *world) key(email string, scopes account.ScopeSet) string { return w.keyFor(email, "", scopes) }

// keyFor issues an account key, or an inbox key if address is not empty.
func (w *world) keyFor(email, address string, scopes account.ScopeSet) string {
	k := account.APIKey{Kind: account.KindAccountKey, Scopes: scopes, Inbox: address}
	if address != "" {
		k.Kind = account.KindInboxKey
		w.accounts.makeRoom(w.idOf(email), address)
	}
	issued, err := w.accounts.issue(w.idOf(email), k, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return issued.Token
}

func (w *world) newInbox(email, prefix string) string {
	v, _, err := w.accounts.CreateInbox(context.Background(), w.idOf(email), inbox.CreationRequest{Prefix: &prefix})
	if err != nil {
		w.t.Fatal(err)
	}
	return v.Address
}

// deliver stores a message in an inbox and returns its id.
func (w *world) deliver(address string, mail inbox.Receive) int64 {
	if mail.Content == nil {
		mail.Content = &inbox.Content{Doc: message.ParsedMessage{Subject: mail.Subject, Text: "hello"}}
	}
	if otp := &mail.Content.OTP; otp.Code != "" && otp.Source == "" {
		otp.Source = "text"
	}
	if mail.EnvelopeTo == "" {
		mail.EnvelopeTo = address
	}
	a, err := w.inboxes.Do(context.Background(), address, mail)
	if err != nil {
		w.t.Fatal(err)
	}
	return a.ID
}

// mailOf parses raw as ingest does, but simplified.
func mailOf(raw string, otp inbox.OTP) inbox.Receive {
	doc := message.Parse([]byte(raw))
	return inbox.Receive{From: doc.From, Subject: doc.Subject, Content: &inbox.Content{Doc: *doc, OTP: otp}, Raw: []byte(raw)}
}

var loopbackPeer = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000}
