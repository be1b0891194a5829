package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/http/wire"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// ask writes a request and returns the connection.
func (w *world) ask(request string) *asked {
	w.t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.askOn(c, request)
}

func (w *world) askOn(c net.Conn, request string) *asked {
	w.t.Helper()
	w.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		w.t.Fatal(err)
	}
	return &asked{w.t, c, bufio.NewReaderSize(c, 16)}
}

// asked is a connection on which a request was sent.
type asked struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

// answer reads the header of the response.
func (a *asked) answer() *nethttp.Response {
	a.t.Helper()
	r, err := nethttp.ReadResponse(a.in, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return r
}

// eventually waits for the effect of other goroutines.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// TestNoBodyWithoutACredential: a large body is refused as soon as the header has arrived. A body
// small enough for anybody is checked in the usual order.
func TestNoBodyWithoutACredential(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	address := w.newInbox(alice, "own")
	send, login := "POST /api/v1/inboxes/"+address+"/send", "POST /api/auth/login"
	for name, c := range map[string]struct {
		line, head string
		status     int
	}{
		"no key":            {send, "Content-Length: 33554432\r\n", 401},
		"a key that is not": {send, "X-API-Key: " + key + "x\r\nContent-Length: 33554432\r\n", 401},
		"it asks before":    {send, "Expect: 100-continue\r\nContent-Length: 33554432\r\n", 401},
		"8 KiB and a byte":  {send, "Content-Length: 8193\r\n", 401},
		"a log-in":          {login, "Content-Length: 8193\r\n", 413},
		"nothing there":     {"POST /api/nothing", "Content-Length: 8193\r\n", 404},
		"not this method":   {"PUT /api/keys", "Content-Length: 8193\r\n", 405},
		"two credentials":   {send, "X-API-Key: " + key + "\r\nAuthorization: Bearer x\r\nContent-Length: 8193\r\n", 400},
		"ambiguous":         {send, "Content-Length: 8193\r\nTransfer-Encoding: chunked\r\n", 400},
		"too large":         {send, "X-API-Key: " + key + "\r\nContent-Length: 33554433\r\n", 413},
		"too large a key":   {"POST /api/v1/inboxes", "X-API-Key: " + key + "\r\nContent-Length: 1048577\r\n", 413},
		"chunked":           {send, "Transfer-Encoding: chunked\r\n\r\n2001\r\n" + strings.Repeat("x", 0x2001), 401},
		"chunked log-in":    {login, "Transfer-Encoding: chunked\r\n\r\n2001\r\n" + strings.Repeat("x", 0x2001), 413},
	} {
		if r := w.ask(c.line + " HTTP/1.1\r\nHost: x\r\n" + c.head + "\r\n").answer(); r.StatusCode != c.status || !r.Close {
			t.Errorf("%s: %d, close %t", name, r.StatusCode, r.Close)
		}
	}
	blank := strings.Repeat(" ", wire.SmallBody-2) + "{}"
	w.expect(422, w.call(methodPost, "/api/auth/login", "", blank))
	w.expect(401, w.call(methodPost, "/api/v1/inboxes", "", blank))
	letter := `{"to": "a@far.test", "body": "` + strings.Repeat("x", wire.SmallBody) + `"}`
	asked := w.ask(fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", send, key, len(letter)))
	if r := asked.answer(); r.StatusCode != 100 {
		t.Errorf("who may send is told %d", r.StatusCode)
	}
	io.WriteString(asked, letter)
	if r := asked.answer(); r.StatusCode != 202 {
		t.Errorf("who was told to send: %d", r.StatusCode)
	}
}

// TestBodiesShareABudget: an account holds at most half of it, all together at most all of it, and
// released memory becomes available. Small bodies are not counted.
func TestBodiesShareABudget(t *testing.T) {
	const most = 1 << 20
	w := start(t, func(o *Options) { o.MaxBodyBytes = most })
	addresses := map[string]string{}
	for _, email := range []string{alice, bob, "carol@example.com"} {
		w.signUp(email)
		addresses[email] = w.newInbox(email, email[:1])
	}
	begin := func(email string, bytes int) *asked {
		key, address := w.key(email, account.ScopeFull), addresses[email]
		return w.ask(fmt.Sprintf("POST /api/v1/inboxes/%s/send HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s", address, key, most, strings.Repeat(" ", bytes)))
	}
	var slow []*asked
	for i, email := range []string{alice, bob} {
		slow = append(slow, begin(email, most/2))
		eventually(t, "the body is held", func() bool { return w.server.wire.BodyBytes() == int64(i+1)*most })
	}
	for _, email := range []string{alice, "carol@example.com"} {
		if r := begin(email, most).answer(); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || !r.Close {
			t.Errorf("%s: %d %v", email, r.StatusCode, r.Header)
		}
		w.expect(201, w.call(methodPost, "/api/v1/inboxes", w.key(email, account.ScopeFull), "{"+strings.Repeat(" ", 50<<10)+"}"))
	}
	slow[0].Close()
	eventually(t, "the body is given up", func() bool { return w.server.wire.BodyBytes() == most })
	io.WriteString(slow[1], strings.Repeat(" ", most/2-20)+`{"to": "a@far.test"}`)
	if r := slow[1].answer(); r.StatusCode != 202 {
		t.Errorf("the body that was held: %d", r.StatusCode)
	}
	eventually(t, "nothing is held", func() bool { return w.server.wire.BodyBytes() == 0 })
}

// pipes listens for connections that buffer nothing.
type pipes struct {
	made chan net.Conn
	once sync.Once
	over chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.over) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	mine, theirs := net.Pipe()
	p.made <- theirs
	return mine
}

// overPipes starts a world over pipes. An inbox of alice contains the messages.
func overPipes(t *testing.T, mailCount ...inbox.Receive) (w *world, p *pipes, address, key string) {
	w, p = prepare(t), &pipes{made: make(chan net.Conn), over: make(chan struct{})}
	w.serve(p)
	w.signUp(alice)
	address = w.newInbox(alice, "own")
	for _, m := range mailCount {
		w.deliver(address, m)
	}
	return w, p, address, w.key(alice, account.ScopeFull)
}

func getting(path, key string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n\r\n"
}

func htmlMail(bytes int) inbox.Receive {
	html := strings.Repeat("x", bytes)
	return inbox.Receive{Subject: "big", Raw: []byte(html), Content: &inbox.Content{Doc: message.ParsedMessage{HTML: html, HasHTML: true}}}
}

// TestAMailIsReadWhileItIsWritten: if the client does not read, at most one piece is read from the
// store. If the message is deleted, the connection ends short of the Content-Length.
func TestAMailIsReadWhileItIsWritten(t *testing.T) {
	file := mailOf(strings.Replace(mailWithFile, "<p>hi</p>", strings.Repeat("0123456789abcde\n", 1<<16), 1), inbox.OTP{})
	w, p, address, key := overPipes(t, htmlMail(1<<20), file)
	for i, path := range []string{"1/raw", "2/attachments/1"} {
		before := w.inboxes.rawRead.Load()
		a := w.askOn(p.dial(), getting("/api/v1/inboxes/"+address+"/messages/"+path, key))
		r := a.answer()
		if found := int64(len(file.Raw) * i); w.inboxes.rawRead.Load()-before > found+pieceBytes {
			t.Errorf("%s: %d bytes were read before anybody asked for them", path, w.inboxes.rawRead.Load()-before)
		}
		if r.ContentLength < 1<<20 {
			t.Fatalf("%s: length %d", path, r.ContentLength)
		}
		w.inboxes.Do(t.Context(), address, inbox.DeleteMessage{ID: int64(i + 1)})
		if n, err := io.Copy(io.Discard, r.Body); !errors.Is(err, io.ErrUnexpectedEOF) || n > pieceBytes {
			t.Errorf("%s: %d bytes, %v", path, n, err)
		}
	}
	if strings.Contains(w.log.String(), "cut off") {
		t.Errorf("a deletion was logged: %s", w.log)
	}
}

// TestAnAnswerThatCantBeReadOnIsLogged, and cut off.
func TestAnAnswerThatCantBeReadOnIsLogged(t *testing.T) {
	w, p, address, key := overPipes(t, htmlMail(1<<20))
	a := w.askOn(p.dial(), getting("/api/v1/inboxes/"+address+"/messages/1/raw", key))
	r := a.answer()
	w.inboxes.breakWith(errors.New("the disk is gone"))
	if _, err := io.Copy(io.Discard, r.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if strings.Count(w.log.String(), "response was cut off") != 1 {
		t.Errorf("log: %s", w.log)
	}
}

// TestAnswersThatNobodyReadsAreBounded: those of one account by half of the budget. Their memory is
// released when the connection ends.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	w, p, address, key := overPipes(t, htmlMail(1<<20))
	w.server.answerBudget = wire.NewBudget(6 << 20)
	w.server.turnPatience = time.Millisecond
	for _, path := range []string{"/messages/1", "/messages?include=html", "/latest"} {
		request := getting("/api/v1/inboxes/"+address+path, key)
		var unread []*asked
		held := int64(1)
		for held > 0 {
			a := w.askOn(p.dial(), request)
			if r := a.answer(); r.StatusCode == 503 {
				if r.Header.Get("Retry-After") == "" || r.Header.Get("ETag") != "" {
					t.Errorf("%s: %v", path, r.Header)
				}
				break
			}
			unread = append(unread, a)
			if held = w.server.answerBudget.HeldBytes(); held > 3<<20 {
				t.Fatalf("%s: %d bytes held", path, held)
			}
		}
		if len(unread) == 0 || len(unread) > 3 || held == 0 {
			t.Errorf("%s: %d answers unread, %d bytes held", path, len(unread), held)
		}
		for _, a := range unread {
			a.Close()
		}
		eventually(t, "all is given back", func() bool { return w.server.answerBudget.HeldBytes() == 0 })
	}
}

// TestDownloadsAreReadByTurns: of many simultaneous downloads only a few read at a time, so that
// polls do not queue behind all of them.
func TestDownloadsAreReadByTurns(t *testing.T) {
	w, p, address, key := overPipes(t, htmlMail(1<<20))
	var downloads sync.WaitGroup
	for range 30 {
		a := w.askOn(p.dial(), getting("/api/v1/inboxes/"+address+"/messages/1/raw", key))
		downloads.Go(func() {
			if n, err := io.Copy(io.Discard, a.answer().Body); n != 1<<20 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	downloads.Wait()
	if most := w.inboxes.rawAtOnce.Load(); most > int64(max(1, runtime.GOMAXPROCS(0)/2)) {
		t.Errorf("%d were read at once", most)
	}
}

// TestWhatIsLargeIsReadByTurns, and also what is numerous. While all turns are taken, small reads
// continue.
func TestWhatIsLargeIsReadByTurns(t *testing.T) {
	file := mailOf(strings.Replace(mailWithFile, "<p>hi</p>", strings.Repeat("0123456789abcde\n", 1<<16), 1), inbox.OTP{})
	w := start(t)
	w.signUp(alice)
	address, key := w.newInbox(alice, "own"), w.key(alice, account.ScopeFull)
	w.deliver(address, file)
	w.deliver(address, inbox.Receive{Subject: "small", Content: &inbox.Content{}})
	many := w.newInbox(alice, "many")
	for range 60 {
		w.deliver(many, inbox.Receive{Subject: "small", Content: &inbox.Content{}})
	}
	free := w.takeTurns()
	messages := "/api/v1/inboxes/" + address + "/messages"
	paths := []string{messages + "/1", messages + "/1/raw", messages + "/1/attachments/1", messages + "?include=html",
		"/api/v1/inboxes/" + many + "/messages?limit=60"}
	answers := make(chan reply, len(paths))
	for _, path := range paths {
		go func() {
			r, err := w.try(methodGet, path, key, "")
			if err != nil {
				t.Error(err)
			}
			answers <- r
		}()
	}
	eventually(t, "three wait", func() bool { return w.server.answerBudget.HeldBytes() > 3<<20 })
	w.expect(200, w.call(methodGet, messages+"/2", key, ""))
	w.expect(200, w.call(methodGet, messages+"?fields=id", key, ""))
	w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+many+"/messages?limit=5", key, ""))
	if n := w.inboxes.rawRead.Load(); n > 0 || len(answers) > 0 {
		t.Errorf("%d bytes were read and %d answered out of turn", n, len(answers))
	}
	free()
	for range paths {
		w.expect(200, <-answers)
	}
}

// takeTurns takes all turns.
func (w *world) takeTurns() (free func()) {
	var taken []func()
	for {
		full, cancel := context.WithTimeout(w.t.Context(), 200*time.Millisecond)
		done, err := w.server.searchTurns.WaitTurn(full)
		cancel()
		if err != nil {
			break
		}
		taken = append(taken, done)
	}
	return func() {
		for _, done := range taken {
			done()
		}
	}
}

// TestAListEndsEarly beyond 8 MB, and continues where it ended.
func TestAListEndsEarly(t *testing.T) {
	mailCount := make([]inbox.Receive, 5)
	for i := range mailCount {
		mailCount[i] = htmlMail(2 << 20)
	}
	w := start(t)
	w.unbound = true
	w.signUp(alice)
	address, key := w.newInbox(alice, "own"), w.key(alice, account.ScopeFull)
	for _, m := range mailCount {
		w.deliver(address, m)
	}
	for path, rest := range map[string]string{"/api/v1/inboxes/" + address + "/messages?include=html": "&before=100", allPath + "?include=html": ""} {
		var sizes []int
		var all []int64
		for more := true; more; {
			r := w.expect(200, w.call(methodGet, path+rest, key, ""))
			if len(r.body) > maxListBytes+3<<20 {
				t.Errorf("%d bytes", len(r.body))
			}
			var page struct {
				More bool   `json:"has_more"`
				Next string `json:"next_cursor"`
			}
			r.into(t, &page)
			ids := r.ids(t)
			all, sizes = append(all, ids...), append(sizes, len(ids))
			if more = page.More || page.Next != ""; page.More {
				rest = fmt.Sprint("&before=", all[len(all)-1])
			} else {
				rest = "&cursor=" + page.Next
			}
		}
		if fmt.Sprint(sizes, all) != "[4 1] [5 4 3 2 1]" {
			t.Error(path, sizes, all)
		}
	}
}
