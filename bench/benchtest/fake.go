// Package benchtest is the smallest server that the loads can run against, for their tests: it keeps the public
// contract of the calls they make, and can be told to break it in one way at a time. It knows nothing of the loads.
package benchtest

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/smtp"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/bench/peer"
)

// Main is what TestMain of a package of loads does. It lets the test binary stand in for the two programs that the loads start: called
// with "serve" it is the fake server, with "constant" the constant answer.
func Main(m *testing.M) {
	if len(os.Args) < 2 || !slices.Contains([]string{"serve", "constant"}, os.Args[1]) {
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
	web, mail := f.String("http", "", ""), f.String("smtp", "", "")
	for _, known := range []string{"default-plan", "namespace", "signup", "smtp-max-conns-per-ip", "smarthost", "log-level", "webhook-allow", "plans", "dns"} {
		f.String(known, "", "")
	}
	fake := &Fake{inboxes: map[string]*fakeInbox{}, sessions: map[string]string{}, changed: make(chan struct{})}
	f.BoolVar(&fake.loseMail, "fake-lose-mail", false, "answer 250 and forget every tenth mail")
	f.BoolVar(&fake.wrongCode, "fake-wrong-code", false, "show another code than was sent")
	f.BoolVar(&fake.alwaysNew, "fake-always-new", false, "answer 200 to who knows the answer")
	f.BoolVar(&fake.neverNew, "fake-never-new", false, "answer 304 with the ETag of something else")
	smarthost := f.Lookup("smarthost")
	f.BoolVar(&fake.refuse, "fake-refuse", false, "answer 451 and 503 with Retry-After to every third mail and poll")
	f.BoolVar(&fake.rude, "fake-rude", false, "answer 452 to every third mail")
	f.BoolVar(&fake.unsigned, "fake-unsigned", false, "webhooks: sign with another secret")
	f.BoolVar(&fake.loseSends, "fake-lose-sends", false, "answer 202 and forget every tenth mail")
	f.StringVar(&fake.events, "fake-events", "", "webhooks: lost (every tenth), twice, or strange (some of nothing that was sent)")
	_ = f.Parse(args)
	fake.smarthost = smarthost.Value.String()
	if err := fake.open(*data); err != nil {
		return err
	}
	return fake.run(ctx, *web, *mail)
}

// Fake is the smallest server that keeps the public contract of the calls the loads make.
type Fake struct {
	loseMail, wrongCode, alwaysNew, neverNew bool
	events                                   string
	refuse, rude, unsigned, loseSends        bool
	smarthost                                string

	mu       sync.Mutex
	order    []string
	inboxes  map[string]*fakeInbox
	sessions map[string]string // of account keys
	hooks    []fakeHook
	journal  *os.File
	changed  chan struct{} // closed and replaced at each mail
	taken    int
	polled   int
	sent     int          // mails taken for others, all delivered at once
	gone     []string     // what was deleted, in order
	mails    []fakeRecord // in order of receipt
}

type fakeInbox struct {
	key   string
	codes []string // id of a message is its place, from 1
	own   string   // its own key

	sealed bool
}

// fakeHook is a webhook of the account of session, for one inbox or all.
type fakeHook struct{ session, url, inbox, id string }

// fakeRecord is a line of the journal: an inbox, or a mail when it has a code.
type fakeRecord struct {
	Address, Key, Code string
	Gone, Sealed       bool
}

func (f *Fake) open(dir string) (err error) {
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

func (f *Fake) apply(r fakeRecord) {
	if r.Gone {
		delete(f.inboxes, r.Address)
		f.order = slices.DeleteFunc(f.order, func(a string) bool { return a == r.Address })
		return
	}
	if r.Code == "" {
		f.inboxes[r.Address] = &fakeInbox{key: r.Key, sealed: r.Sealed}
		f.order = append(f.order, r.Address)
		return
	}
	f.inboxes[r.Address].codes = append(f.inboxes[r.Address].codes, r.Code)
	f.mails = append(f.mails, r)
}

func (f *Fake) commit(r fakeRecord) {
	line, _ := json.Marshal(r)
	_, _ = f.journal.Write(append(line, '\n'))
	f.apply(r)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Fake) run(ctx context.Context, webAddr, mailAddr string) error {
	web, err1 := net.Listen("tcp", webAddr)
	mail, err2 := net.Listen("tcp", mailAddr)
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

func (f *Fake) serveHTTP(ctx *fasthttp.RequestCtx) {
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
		answer(f.manage(string(ctx.Method()), session, path, ctx.PostBody()))
	case strings.HasPrefix(path, "/calendar/feeds/"):
		ctx.SetBodyString("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
		ctx.Response.Header.Set("X-Request-Id", fmt.Sprint(ctx.ConnRequestNum())) // grows, as the server's does
		f.tag(ctx)
	case path == "/":
		ctx.Response.Header.Set("X-Request-Id", fmt.Sprint(ctx.ConnRequestNum()))
		ctx.SetBodyString(`<script type="module" src="/assets/app.AAAAAAAA.js"></script>`)
		f.tag(ctx)
	case path == "/assets/app.AAAAAAAA.js":
		ctx.SetBodyString("export {}")
	case path != "/metrics" && !strings.HasPrefix(key, "svc_"):
		answer(401, map[string]string{"detail": "A valid API key is required"})
	case path == "/api/v1/inboxes" && ctx.IsPost():
		var in struct{ Prefix string }
		_ = json.Unmarshal(ctx.PostBody(), &in)
		answer(f.create(in.Prefix+"@inbox.localhost", key))
	case path == "/api/v1/inboxes":
		answer(200, f.list(key, string(ctx.QueryArgs().Peek("cursor"))))
	case path == "/api/v1/events" && string(ctx.Request.Header.Peek("Accept")) != "text/event-stream":
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(200, map[string]any{"events": []any{}, "next": strconv.Itoa(len(f.mails))})
	case path == "/api/v1/events":
		from, err := strconv.Atoi(string(ctx.Request.Header.Peek("Last-Event-ID")))
		if err != nil {
			from = -1
		}
		ctx.SetContentType("text/event-stream")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { f.stream(w, key, from) })
	case path == "/api/v1/messages":
		answer(200, f.all(key))
	case ctx.IsDelete():
		f.mu.Lock()
		defer f.mu.Unlock()
		f.gone = append(f.gone, path)
		f.commit(fakeRecord{Address: strings.TrimPrefix(path, "/api/v1/inboxes/"), Gone: true})
		answer(200, map[string]bool{"ok": true})
	case path == "/fake/gone": // for tests: what was deleted
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(200, f.gone)
	case path == "/fake/taken": // for tests: how many mails came
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(200, f.taken)
	case path == "/metrics":
		f.mu.Lock()
		defer f.mu.Unlock()
		ctx.SetBodyString(fmt.Sprintf("other 1\ninboxd_mail_results_total{result=\"delivered\"} %d\n", f.sent))
	case strings.HasSuffix(path, "/calendar/feed"):
		answer(200, map[string]string{"feed_url": "http://inbox.localhost/calendar/feeds/token.ics"})
	case strings.HasSuffix(path, "/calendar/events") && ctx.IsGet():
		answer(200, f.meetings(strings.TrimSuffix(strings.TrimPrefix(path, "/api/v1/inboxes/"), "/calendar/events")))
	case strings.HasSuffix(path, "/send"), strings.HasSuffix(path, "/calendar/events"):
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sent++
		f.deliver(ctx.PostBody())
		answer(202, map[string]any{"ok": true, "queued": true, "message_id": f.sent})
	case strings.HasSuffix(path, "/latest") && f.refused(&f.polled):
		ctx.Response.Header.Set("Retry-After", "1")
		answer(503, map[string]string{"detail": "Too much to do"})
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
func (f *Fake) meetings(address string) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := []any{}
	for i := range f.inboxes[address].codes {
		events = append(events, map[string]any{"id": i + 1})
	}
	return map[string]any{"events": events, "next_cursor": nil}
}

func (f *Fake) create(address, key string) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inboxes[address] != nil {
		return 400, map[string]string{"detail": "The address " + address + " is taken"}
	}
	f.commit(fakeRecord{Address: address, Key: key})
	return 201, map[string]any{"address": address, "api_key": nil}
}

// encrypted makes an inbox of the session's account, under its key. The fake's mu is held.
func (f *Fake) encrypted(session string, body []byte) (int, any) {
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
			f.commit(fakeRecord{Address: address, Key: key, Sealed: true})
			return 201, map[string]any{"address": address, "encrypted": true}
		}
	}
	return 403, map[string]string{"detail": "No key for this session"}
}

// manage is what takes a session: keys of both kinds and webhooks.
func (f *Fake) manage(method, session, path string, body []byte) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	address := strings.TrimSuffix(strings.TrimPrefix(path, "/api/inboxes/"), "/key")
	switch in := f.inboxes[address]; {
	case method == "DELETE" || path == "/api/auth/logout":
		f.gone = append(f.gone, path)
		return 200, map[string]bool{"ok": true}
	case method == "GET" && path == "/api/keys":
		return 200, map[string]any{"keys": []any{map[string]any{"id": 7}}}
	case path == "/api/keys":
		key := fmt.Sprint("svc_live_", time.Now().UnixNano())
		f.sessions[key] = session
		return 201, map[string]string{"key": key}
	case path == "/api/webhooks":
		var order struct{ URL, Event, Inbox string }
		if err := json.Unmarshal(body, &order); err != nil || order.Event != "message.received" {
			return 422, map[string]string{"detail": "Invalid request"}
		}
		f.hooks = append(f.hooks, fakeHook{session, order.URL, order.Inbox, strconv.Itoa(len(f.hooks) + 1)})
		return 201, map[string]any{"webhook": map[string]any{"id": len(f.hooks)}, "secret": "whsec_" + fakeSecret}
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
func (f *Fake) tag(ctx *fasthttp.RequestCtx) {
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
func (f *Fake) tell(r fakeRecord) {
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
				f.call(h, body)
			}
		}()
	}
}

// fakeSecret is the secret of all webhooks, in base64.
const fakeSecret = "c2VjcmV0"

// call posts a body as Standard Webhooks wants it.
func (f *Fake) call(h fakeHook, body string) {
	req, err := http.NewRequest(http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		return
	}
	secret, at := "secret", strconv.FormatInt(time.Now().Unix(), 10)
	if f.unsigned {
		secret = "another"
	}
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s.%s", h.id, at, body)
	req.Header.Set("webhook-id", h.id)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", "v1,b3RoZXI= v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

// deliver hands a mail over to the smarthost. The fake's mu is held.
func (f *Fake) deliver(letter []byte) {
	var order struct{ Subject string }
	if f.smarthost == "" || json.Unmarshal(letter, &order) != nil || f.loseSends && f.sent%10 == 0 {
		return
	}
	go func() { // ends with the process at the latest
		_ = smtp.SendMail(f.smarthost, nil, "a@x.test", []string{"b@x.test"}, []byte("Subject: "+order.Subject+"\r\n\r\ntext\r\n"))
	}()
}

// refused counts, and says that every third is to be refused.
func (f *Fake) refused(n *int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	*n++
	return f.refuse && *n%3 == 0
}

// all are the mails of an account, on one page.
func (f *Fake) all(key string) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	emails := []any{}
	for address, in := range f.inboxes {
		for i, code := range in.codes {
			if in.key == key {
				emails = append(emails, map[string]any{"inbox": address, "id": i + 1, "otp_code": f.shown(code)})
			}
		}
	}
	return map[string]any{"emails": emails, "next_cursor": nil}
}

// fakePage is smaller than what is asked for, so that every listing takes several pages.
const fakePage = 7

func (f *Fake) list(key, cursor string) any {
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

func (f *Fake) latest(address, key string, agents bool, after int, wait time.Duration) (int, any) {
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
			if in.sealed && !f.wrongCode {
				email = map[string]any{"id": id, "otp_code": nil, "encrypted": true, "envelope": "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0="}
			}
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

// stream sends an event for each mail of an account from one on, -1 is the next, until the client leaves.
func (f *Fake) stream(w *bufio.Writer, key string, from int) {
	f.mu.Lock()
	if from < 0 {
		from = len(f.mails)
	}
	f.mu.Unlock()
	fmt.Fprint(w, "id: start\n\n")
	for w.Flush() == nil {
		f.mu.Lock()
		fresh, changed := f.mails[from:], f.changed
		ours := make([]bool, len(fresh))
		for i, m := range fresh {
			in := f.inboxes[m.Address]
			ours[i] = in != nil && in.key == key
		}
		f.mu.Unlock()
		if len(fresh) == 0 {
			<-changed
		}
		for i, m := range fresh {
			if from++; !ours[i] {
				continue
			}
			fmt.Fprintf(w, "id: %d\nevent: message.received\ndata: {\"event\":\"message.received\",\"inbox\":%q,\"otp\":%q}\n\n", from, m.Address, f.shown(m.Code))
		}
	}
}

func (f *Fake) shown(code string) any {
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
func (f *Fake) serveSMTP(c net.Conn) {
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

func (f *Fake) knows(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inboxes[address] != nil
}

func (f *Fake) take(r *bufio.Reader, to string) (reply string) {
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
	f.taken++
	switch {
	case f.refuse && f.taken%3 == 0:
		return "451 4.3.2 too much to do"
	case f.rude && f.taken%3 == 0:
		return "452 4.3.1 no room"
	}
	if !f.loseMail || f.taken%10 != 0 {
		f.commit(fakeRecord{Address: to, Code: code})
		f.tell(fakeRecord{Address: to, Code: code})
	}
	return "250 2.0.0 kept"
}

// Start runs one in this process, for mail only, that knows some inboxes.
func Start(t *testing.T, known ...string) (f *Fake, smtpAddr string) {
	t.Helper()
	f = &Fake{inboxes: map[string]*fakeInbox{}, changed: make(chan struct{})}
	if err := f.open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, address := range known {
		f.create(address, "k")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() { // ends with ln
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go f.serveSMTP(c)
		}
	}()
	return f, ln.Addr().String()
}

// Codes are those of all mails that it took, with the inbox of each.
func (f *Fake) Codes() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	codes := make(map[string]string)
	for address, in := range f.inboxes {
		for _, code := range in.codes {
			codes[code] = address
		}
	}
	return codes
}
