package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/bench/peer"
)

// TestMain lets the test binary stand in for the two programs that the loads start: called
// with "serve" it is the fake server, with "constant" the constant answer.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "serve" && os.Args[1] != "constant" {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // a child under -race sleeps a second at its end
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	serve := serveFake
	if os.Args[1] == "constant" {
		serve = serveConstant
	}
	if err := serve(ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveConstant(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("constant", flag.ExitOnError)
	addr, status, size := f.String("http", "", ""), f.Int("status", 0, ""), f.Int("size", 0, "")
	_ = f.Parse(args)
	return peer.Constant(ctx, *addr, *status, *size, os.Stdout)
}

// serveFake runs the fake with the flags of inboxd serve, and some of its own that make it
// wrong in one way each.
func serveFake(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("serve", flag.ExitOnError)
	data := f.String("data", "", "")
	for _, known := range []string{"http", "smtp", "default-plan", "namespace", "signup", "smtp-max-conns-per-ip", "smarthost", "log-level", "webhook-allow", "plans", "dns"} {
		f.String(known, "", "")
	}
	fake := &fake{inboxes: map[string]*fakeInbox{}, sessions: map[string]string{}, changed: make(chan struct{})}
	f.BoolVar(&fake.loseMail, "fake-lose-mail", false, "answer 250 and forget every tenth mail")
	f.BoolVar(&fake.wrongCode, "fake-wrong-code", false, "show another code than was sent")
	f.BoolVar(&fake.alwaysNew, "fake-always-new", false, "answer 200 to who knows the answer")
	f.BoolVar(&fake.neverNew, "fake-never-new", false, "answer 304 with the ETag of something else")
	f.StringVar(&fake.events, "fake-events", "", "webhooks: lost (every tenth), twice, or strange (some of nothing that was sent)")
	_ = f.Parse(args)
	if err := fake.open(*data); err != nil {
		return err
	}
	return fake.run(ctx)
}

// fake is the smallest server that keeps the public contract of the calls the loads make.
type fake struct {
	loseMail, wrongCode, alwaysNew, neverNew bool
	events                                   string

	mu       sync.Mutex
	order    []string
	inboxes  map[string]*fakeInbox
	sessions map[string]string // of account keys
	hooks    []fakeHook
	journal  *os.File
	changed  chan struct{} // closed and replaced at each mail
	taken    int
	sent     int          // mails taken for others, all delivered at once
	mails    []fakeRecord // in order of receipt
}

type fakeInbox struct {
	key   string
	codes []string // id of a message is its place, from 1
	own   string   // its own key
}

// fakeHook is a webhook of the account of session, for one inbox or all.
type fakeHook struct{ session, url, inbox string }

// fakeRecord is a line of the journal: an inbox, or a mail when it has a code.
type fakeRecord struct{ Address, Key, Code string }

func (f *fake) open(dir string) (err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f.journal, err = os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for d := json.NewDecoder(f.journal); ; {
		var r fakeRecord
		if err := d.Decode(&r); err != nil {
			return nil
		}
		f.apply(r)
	}
}

func (f *fake) apply(r fakeRecord) {
	if r.Code == "" {
		f.inboxes[r.Address] = &fakeInbox{key: r.Key}
		f.order = append(f.order, r.Address)
		return
	}
	f.inboxes[r.Address].codes = append(f.inboxes[r.Address].codes, r.Code)
	f.mails = append(f.mails, r)
}

func (f *fake) commit(r fakeRecord) {
	line, _ := json.Marshal(r)
	_, _ = f.journal.Write(append(line, '\n'))
	f.apply(r)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) run(ctx context.Context) error {
	web, err1 := net.Listen("tcp", "127.0.0.1:0")
	mail, err2 := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	go func() { _ = fasthttp.Serve(web, f.serveHTTP) }()
	go func() {
		for {
			c, err := mail.Accept()
			if err != nil {
				return
			}
			go f.serveSMTP(c)
		}
	}()
	fmt.Fprintln(os.Stderr, "a line of log")
	fmt.Printf("some other line\ninboxd ready http=%s smtp=%s\n", web.Addr(), mail.Addr())
	<-ctx.Done()
	return errors.Join(web.Close(), mail.Close())
}

func (f *fake) serveHTTP(ctx *fasthttp.RequestCtx) {
	path, key, session := string(ctx.Path()), string(ctx.Request.Header.Peek("X-API-Key")), string(ctx.Request.Header.Peek("Authorization"))
	answer := func(status int, body any) {
		b, _ := json.Marshal(body)
		ctx.SetStatusCode(status)
		ctx.SetContentType("application/json")
		ctx.SetBody(b)
	}
	switch {
	case path == "/api/auth/signup":
		answer(201, map[string]string{"session_token": fmt.Sprint("svc_sess_", time.Now().UnixNano())})
	case strings.HasPrefix(session, "Bearer svc_sess_"):
		answer(f.manage(session, path, ctx.PostBody()))
	case strings.HasPrefix(path, "/calendar/feeds/"):
		ctx.SetBodyString("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
		ctx.Response.Header.Set("X-Request-Id", fmt.Sprint(ctx.ConnRequestNum())) // grows, as the server's does
		f.tag(ctx)
	case path != "/metrics" && !strings.HasPrefix(key, "svc_"):
		answer(401, map[string]string{"detail": "A valid API key is required"})
	case path == "/api/v1/inboxes" && ctx.IsPost():
		var in struct{ Prefix string }
		_ = json.Unmarshal(ctx.PostBody(), &in)
		answer(f.create(in.Prefix+"@inbox.localhost", key))
	case path == "/api/v1/inboxes":
		answer(200, f.list(key, string(ctx.QueryArgs().Peek("cursor"))))
	case path == "/api/v1/events":
		ctx.SetContentType("text/event-stream")
		ctx.SetBodyStreamWriter(f.stream)
	case path == "/metrics":
		f.mu.Lock()
		defer f.mu.Unlock()
		ctx.SetBodyString(fmt.Sprintf("other 1\n%s %d\n", deliveredMetric, f.sent))
	case strings.HasSuffix(path, "/calendar/feed"):
		answer(200, map[string]string{"feed_url": "http://inbox.localhost/calendar/feeds/token.ics"})
	case strings.HasSuffix(path, "/calendar/events") && ctx.IsGet():
		answer(200, f.meetings(strings.TrimSuffix(strings.TrimPrefix(path, "/api/v1/inboxes/"), "/calendar/events")))
	case strings.HasSuffix(path, "/send"), strings.HasSuffix(path, "/calendar/events"):
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sent++
		answer(202, map[string]any{"ok": true, "queued": true, "message_id": f.sent})
	case strings.HasSuffix(path, "/latest"):
		address, agents := strings.CutPrefix(strings.TrimSuffix(path, "/latest"), "/api/v1/inboxes/")
		after, _ := ctx.QueryArgs().GetUint("after")
		wait, _ := ctx.QueryArgs().GetUint("wait")
		address = strings.Replace(strings.TrimPrefix(address, "/api/inboxes/"), "+lane@", "@", 1)
		answer(f.latest(address, key, agents, max(after, 0), time.Duration(max(wait, 0))*time.Second))
		f.tag(ctx)
	default:
		answer(404, map[string]string{"detail": "No such path"})
	}
}

// meetings takes every mail for an invitation.
func (f *fake) meetings(address string) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := []any{}
	for i := range f.inboxes[address].codes {
		events = append(events, map[string]any{"id": i + 1})
	}
	return map[string]any{"events": events, "next_cursor": nil}
}

func (f *fake) create(address, key string) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inboxes[address] != nil {
		return 400, map[string]string{"detail": "The address " + address + " is taken"}
	}
	f.commit(fakeRecord{Address: address, Key: key})
	return 201, map[string]any{"address": address, "api_key": nil}
}

// encrypted makes an inbox of the session's account, under its key. The fake's mu is held.
func (f *fake) encrypted(session string, body []byte) (int, any) {
	var order struct {
		Prefix    string
		Encrypted bool
	}
	if err := json.Unmarshal(body, &order); err != nil || !order.Encrypted {
		return 422, map[string]string{"detail": "Invalid request"}
	}
	for key, of := range f.sessions {
		if of == session {
			address := order.Prefix + "@inbox.localhost"
			f.commit(fakeRecord{Address: address, Key: key})
			return 201, map[string]any{"address": address, "encrypted": true}
		}
	}
	return 403, map[string]string{"detail": "No key for this session"}
}

// manage is what takes a session: keys of both kinds and webhooks.
func (f *fake) manage(session, path string, body []byte) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	address := strings.TrimSuffix(strings.TrimPrefix(path, "/api/inboxes/"), "/key")
	switch in := f.inboxes[address]; {
	case path == "/api/keys":
		key := fmt.Sprint("svc_live_", time.Now().UnixNano())
		f.sessions[key] = session
		return 201, map[string]string{"key": key}
	case path == "/api/webhooks":
		var order struct{ URL, Event, Inbox string }
		if err := json.Unmarshal(body, &order); err != nil || order.Event != "message.received" {
			return 422, map[string]string{"detail": "Invalid request"}
		}
		f.hooks = append(f.hooks, fakeHook{session, order.URL, order.Inbox})
		return 201, map[string]any{"webhook": map[string]any{"id": len(f.hooks)}, "secret": "whsec_x"}
	case path == "/api/account/encryption":
		return 200, map[string]any{"encryption": map[string]any{"enabled": true}}
	case path == "/api/inboxes":
		return f.encrypted(session, body)
	case in == nil || f.sessions[in.key] != session:
		return 403, map[string]string{"detail": "No inbox " + address + " for this session"}
	case in.own != "":
		return 400, map[string]string{"detail": "The inbox has a key"}
	default:
		in.own = fmt.Sprint("svc_sk_", time.Now().UnixNano())
		return 201, map[string]string{"api_key": in.own}
	}
}

// tag gives the answer its ETag, and takes the body away from who has it.
func (f *fake) tag(ctx *fasthttp.RequestCtx) {
	tag := fmt.Sprintf("%q", strconv.Itoa(len(ctx.Response.Body()))+string(ctx.Path()))
	known := string(ctx.Request.Header.Peek("If-None-Match")) == tag
	if known && f.neverNew {
		tag = `"other"`
	}
	ctx.Response.Header.Set("ETag", tag)
	if known && !f.alwaysNew && ctx.Response.StatusCode() == 200 {
		ctx.ResetBody()
		ctx.SetStatusCode(304)
	}
}

// tell calls the webhooks of a mail's inbox.
func (f *fake) tell(r fakeRecord) {
	body := func(code any) string {
		b, _ := json.Marshal(map[string]any{"event": "message.received", "inbox": r.Address, "otp": code})
		return string(b)
	}
	calls := []string{body(f.shown(r.Code))}
	switch tenth := f.taken%10 == 0; {
	case f.events == "lost" && tenth:
		calls = nil
	case f.events == "twice" && tenth:
		calls = append(calls, calls[0])
	case f.events == "strange" && tenth:
		calls = append(calls, body(nil))
	}
	for _, h := range f.hooks {
		if h.session != f.sessions[f.inboxes[r.Address].key] || h.inbox != "" && h.inbox != r.Address {
			continue
		}
		go func() { // ends with the process at the latest
			for _, body := range calls {
				if resp, err := http.Post(h.url, "application/json", strings.NewReader(body)); err == nil {
					resp.Body.Close()
				}
			}
		}()
	}
}

// fakePage is smaller than what is asked for, so that every listing takes several pages.
const fakePage = 7

func (f *fake) list(key, cursor string) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	from, _ := strconv.Atoi(cursor)
	items, next := []any{}, any(nil)
	for i := from; i < len(f.order); i++ {
		if len(items) == fakePage {
			next = strconv.Itoa(i)
			break
		}
		if in := f.inboxes[f.order[i]]; in.key == key {
			items = append(items, map[string]any{"address": f.order[i], "message_count": len(in.codes)})
		}
	}
	return map[string]any{"inboxes": items, "next_cursor": next}
}

func (f *fake) latest(address, key string, agents bool, after int, wait time.Duration) (int, any) {
	for end := time.After(wait); ; {
		f.mu.Lock()
		in, changed := f.inboxes[address], f.changed
		if in == nil || in.own != key && (in.key != key || !agents) {
			f.mu.Unlock()
			return 403, map[string]string{"detail": "No inbox " + address + " for this API key"}
		}
		id := len(in.codes)
		var email any
		if id > after {
			email = map[string]any{"id": id, "otp_code": f.shown(in.codes[id-1])}
		}
		f.mu.Unlock()
		if email != nil || wait == 0 {
			return 200, map[string]any{"email": email}
		}
		select {
		case <-changed:
		case <-end:
			return 200, map[string]any{"email": nil}
		}
	}
}

// stream sends an event for each mail from now on, until the client leaves.
func (f *fake) stream(w *bufio.Writer) {
	f.mu.Lock()
	from := len(f.mails)
	f.mu.Unlock()
	fmt.Fprint(w, "id: start\n\n")
	for w.Flush() == nil {
		f.mu.Lock()
		fresh, changed := f.mails[from:], f.changed
		f.mu.Unlock()
		if len(fresh) == 0 {
			<-changed
		}
		for _, m := range fresh {
			from++
			fmt.Fprintf(w, "id: %d\nevent: message.received\ndata: {\"inbox\":%q,\"otp\":%q}\n\n", from, m.Address, f.shown(m.Code))
		}
	}
}

func (f *fake) shown(code string) any {
	switch {
	case f.wrongCode:
		return "999999"
	case code == "none":
		return nil
	}
	return code
}

var fakeCode = regexp.MustCompile(`code is (\d{6})`)

// serveSMTP is strict where a pipelining client could go wrong: one reply per command, and
// unknown recipients are refused.
func (f *fake) serveSMTP(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	say := func(s string) { _, _ = io.WriteString(c, s+"\r\n") }
	say("220 fake ESMTP")
	to := ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), " ")
		switch verb {
		case "EHLO":
			say("250-fake\r\n250-PIPELINING\r\n250 8BITMIME")
		case "RCPT":
			to = strings.Replace(strings.Trim(strings.TrimPrefix(rest, "TO:"), "<>"), "+lane@", "@", 1)
			if !f.knows(to) {
				to = ""
				say("550 5.1.1 no such inbox")
				continue
			}
			say("250 ok")
		case "DATA":
			if to == "" {
				say("503 5.5.1 no recipient")
				continue
			}
			say("354 go ahead")
			say(f.take(r, to))
			to = ""
		case "HELO", "MAIL", "RSET":
			say("250 ok")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("500 5.5.2 " + verb)
		}
	}
}

func (f *fake) knows(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inboxes[address] != nil
}

func (f *fake) take(r *bufio.Reader, to string) (reply string) {
	var mail strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "451 4.3.0 cut short"
		}
		if line == ".\r\n" {
			break
		}
		mail.WriteString(line)
	}
	code := "none"
	if m := fakeCode.FindStringSubmatch(mail.String()); m != nil {
		code = m[1]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.taken++; !f.loseMail || f.taken%10 != 0 {
		f.commit(fakeRecord{Address: to, Code: code})
		f.tell(fakeRecord{Address: to, Code: code})
	}
	return "250 2.0.0 kept"
}

// fakeBed is a bed on the fake, started the way the real server is.
func fakeBed(t *testing.T, serveArgs ...string) *Bed {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bed, err := Prepare(t.Context(), "inbox-bench test",
		ServerOptions{Inboxd: self, ServeArgs: serveArgs, Dir: t.TempDir(), Accounts: 2, Commit: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}
