package http

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/http/search"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// lone makes a world with one inbox of alice and a key with full scope.
func lone(t testing.TB, change ...func(*Options)) (w *world, address, key, latest string) {
	w = start(t, change...)
	w.signUp(alice)
	address, key = w.newInbox(alice, "own"), w.key(alice, account.ScopeFull)
	return w, address, key, "/api/v1/inboxes/" + address + "/latest"
}

func TestLatestWithoutMail(t *testing.T) {
	w, _, key, latest := lone(t)
	for range 2 { // rendered, then cached
		if r := w.expect(200, w.call(methodGet, latest, key, "")); r.body != `{"email":null}` || r.header.Get("ETag") != `"0"` {
			t.Errorf("answer %s %v", r.body, r.header)
		}
	}
}

func TestLatestIsTheNewestReceived(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "first"})
	w.deliver(address, inbox.Receive{Subject: "second"})
	r := w.expect(200, w.call(methodGet, latest, key, ""))
	if r.object(t, "email", "subject") != "second" || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("answer %s", r.body)
	}
	w.advance(25 * time.Hour) // both messages expire
	if r := w.call(methodGet, latest, key, ""); r.body != `{"email":null}` {
		t.Errorf("after expiry: %s", r.body)
	}
}

// TestLatestShowsTheOlderMailOnceTheNewerExpired: the cached response ends with its message, even
// if no new view was published.
func TestLatestShowsTheOlderMailOnceTheNewerExpired(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "long"})
	hours := 1
	w.inboxes.Do(context.Background(), address, inbox.UpdateSettings{RetentionHours: &hours})
	w.deliver(address, inbox.Receive{Subject: "short"})
	for range 2 {
		if r := w.call(methodGet, latest, key, ""); r.object(t, "email", "subject") != "short" {
			t.Fatalf("answer %s", r.body)
		}
	}
	w.advance(61 * time.Minute)
	if r := w.call(methodGet, latest, key, ""); r.object(t, "email", "subject") != "long" {
		t.Errorf("answer %s", r.body)
	}
}

func TestLatestFilters(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "Your code", From: message.Mailbox{Email: "a@bank.example", Name: "Straße Bank"},
		Content: &inbox.Content{OTP: inbox.OTP{Code: "123456"}}})
	w.deliver(address, inbox.Receive{Subject: "Newsletter", From: message.Mailbox{Email: "news@shop.example"}})
	for query, want := range map[string]any{
		"otp=true": 1.0, "otp=false": 2.0, "from=BANK": 1.0, "from=STRASSE": nil, "from=STRAẞE": nil, "subject=code": 1.0,
		"subject=NEWS": 2.0, "after=1": 2.0, "after=2": nil, "otp=true&after=1": nil, "from=shop&otp=1": nil,
		"unknown=1": 2.0, "after=": 2.0, "fields=id": 2.0,
	} {
		r := w.expect(200, w.call(methodGet, latest+"?"+query, key, ""))
		var id any
		if m, ok := r.object(t, "email").(map[string]any); ok {
			id = m["id"]
		}
		if id != want {
			t.Errorf("%s: id %v, want %v", query, id, want)
		}
	}
	for query, detail := range map[string]string{
		"after=x": "'after' must be a whole number", "after=-1": "'after' must be between 0 and 9223372036854775807",
		"wait=61": "'wait' must be between 0 and 60", "wait=1.5": "'wait' must be a whole number", "otp=yes": "'otp' must be true or false",
		"from=%ff": "'from' is not UTF-8", "fields=id,nope": "'fields' contains the unknown field 'nope'. The fields of a message are listed in /docs",
		"include=subject":                      "'include' contains the unknown value 'subject'. Valid values: html, headers, link_texts, envelope",
		"subject=" + strings.Repeat("x", 1001): "'subject' is too long (1001 characters). The limit is 1000 characters",
	} {
		if r := w.expect(422, w.call(methodGet, latest+"?"+query, key, "")); r.detail() != "Invalid request: "+detail {
			t.Errorf("%s: %s", query, r.detail())
		}
	}
}

// TestLatestOfSentMessages: direction combines with filters, tags, waits and ETags. A sent message
// counts from its acceptance, and its ETag changes with its delivery status.
func TestLatestOfSentMessages(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "received", From: message.Mailbox{Email: "a@b.test"}})
	waits := w.waiting(latest+"?direction=out&wait=20&fields=id", key)
	w.awaitWaiters(1)
	w.expect(202, w.call(methodPost, "/api/v1/inboxes/"+address+"/send", key, `{"to":"c@d.test","subject":"sent"}`))
	if r := <-waits; r.body != `{"email":{"id":2}}` {
		t.Errorf("a wait for a sent message: %s", r.body)
	}
	tagged := strings.Replace(latest, "@", "+tag@", 1)
	for query, want := range map[string]any{
		latest + "?": 1.0, latest + "?direction=in": 1.0, latest + "?direction=": 1.0, latest + "?direction=out": 2.0, latest + "?direction=all": 2.0,
		latest + "?direction=all&subject=rec": 1.0, latest + "?direction=out&subject=rec": nil, latest + "?direction=out&after=2": nil,
		latest + "?direction=out&from=a@b.test": nil, latest + "?direction=all&from=" + address: 2.0, latest + "?direction=out&verified=true": 2.0,
		latest + "?direction=out&otp=true": nil, tagged + "?direction=out": nil, tagged + "?direction=all": nil,
	} {
		for _, path := range []string{query, strings.Replace(query, "/v1", "", 1)} {
			with := key
			if path != query {
				with = w.keyFor(alice, address, account.ScopeRead)
			}
			r := w.expect(200, w.call(methodGet, path, with, ""))
			m, _ := r.object(t, "email").(map[string]any)
			if m["id"] != want {
				t.Errorf("%s: %v, want %v", path, m["id"], want)
			}
		}
	}
	for _, bad := range []string{"up", "IN", "in,out"} {
		if r := w.expect(422, w.call(methodGet, latest+"?direction="+bad, key, "")); r.detail() != "Invalid request: 'direction' must be one of in, out, all" {
			t.Error(r.detail())
		}
	}
	tag := w.call(methodGet, latest+"?direction=out", key, "").header.Get("ETag")
	w.expect(304, w.call(methodGet, latest+"?direction=out", key, "", "If-None-Match", tag))
	changes := make(chan reply, 1)
	go func() {
		r, _ := w.try(methodGet, latest+"?direction=out&wait=20&fields=send_status", key, "", "If-None-Match", tag)
		changes <- r
	}()
	w.awaitWaiters(1)
	for _, cmd := range []inbox.Command{
		inbox.BeginAttempt{ID: 2, SigningResult: inbox.MessageSigned},
		inbox.ReportAttempt{ID: 2, AttemptNumber: 1, IsDone: true, Reports: []inbox.AttemptReport{{Email: "c@d.test", Outcome: delivery.OutcomeDelivered}}},
	} {
		if _, err := w.inboxes.Do(t.Context(), address, cmd); err != nil {
			t.Fatal(err)
		}
	}
	if r := <-changes; r.status != 200 || r.body != `{"email":{"send_status":"sent"}}` {
		t.Errorf("the tag stays while the message is delivered: %d %s", r.status, r.body)
	}
	settled := w.call(methodGet, latest+"?direction=out", key, "").header.Get("ETag")
	w.inboxes.unload(address)
	if again := w.call(methodGet, latest+"?direction=out", key, "").header.Get("ETag"); again != settled || settled == tag {
		t.Errorf("tags %s, %s, after a reload %s", tag, settled, again)
	}
}

func TestLatestETag(t *testing.T) {
	w, address, key, latest := lone(t)
	id := w.deliver(address, inbox.Receive{Subject: "s"})
	variants := []string{"", "?fields=id", "?otp=false&subject=s", "?after=0"}
	tag := w.call(methodGet, latest, key, "").header.Get("ETag")
	for _, v := range variants {
		for _, field := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			r := w.expect(304, w.call(methodGet, latest+v, key, "", "If-None-Match", field))
			if r.body != "" || r.header.Get("ETag") != tag || r.header.Get("X-Request-Id") == "" {
				t.Errorf("%s with %s: %v %q", v, field, r.header, r.body)
			}
		}
		w.expect(200, w.call(methodGet, latest+v, key, "", "If-None-Match", `"other"`))
	}
	w.expect(200, w.call(methodPost, "/api/v1/inboxes/"+address+"/messages/1/read", key, ""))
	read := w.expect(200, w.call(methodGet, latest, key, "", "If-None-Match", tag)).header.Get("ETag")
	if read == tag {
		t.Error("the read mark did not change the tag")
	}
	w.inboxes.unload(address)
	if again := w.call(methodGet, latest, key, "").header.Get("ETag"); again != read {
		t.Errorf("after a reload the tag is %s, was %s", again, read)
	}
	w.inboxes.Do(context.Background(), address, inbox.DeleteMessage{ID: id})
	w.expect(304, w.call(methodGet, latest, key, "", "If-None-Match", `"0"`))
}

// waiting starts a long poll and returns a channel for its response, once the server waits.
func (w *world) waiting(path, key string) <-chan reply {
	w.t.Helper()
	got := make(chan reply, 1)
	go func() {
		r, err := w.try(methodGet, path, key, "")
		if err != nil {
			r.body = err.Error()
		}
		got <- r
	}()
	return got
}

// awaitWaiters returns when n long polls wait on the view of the inbox.
func (w *world) awaitWaiters(n int64) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); w.server.LongPolls() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d waiters, want %d", w.server.LongPolls(), n)
		}
	}
}

// answer returns the response to a long poll, which must arrive soon.
func (w *world) answer(got <-chan reply) reply {
	w.t.Helper()
	select {
	case r := <-got:
		return r
	case <-time.After(15 * time.Second):
		w.t.Fatal("the long poll was not answered")
		return reply{}
	}
}

func TestLongPollWakesForAMatch(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "old"})
	got := w.waiting(latest+"?after=1&otp=true&wait=60", key)
	w.awaitWaiters(1)
	w.deliver(address, inbox.Receive{Subject: "no code"})
	w.deliver(address, inbox.Receive{Subject: "code", Content: &inbox.Content{OTP: inbox.OTP{Code: "1234"}}})
	if r := w.answer(got); r.status != 200 || r.object(t, "email", "id") != 3.0 {
		t.Errorf("answer %d %s", r.status, r.body)
	}
}

func TestLongPollAnswersAtOnceWhatIsThere(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "here"})
	if r := w.answer(w.waiting(latest+"?wait=60", key)); r.object(t, "email", "subject") != "here" {
		t.Errorf("answer %s", r.body)
	}
}

func TestLongPollEndsInTime(t *testing.T) {
	w, _, key, latest := lone(t)
	if r := w.answer(w.waiting(latest+"?wait=1", key)); r.status != 200 || r.body != `{"email":null}` {
		t.Errorf("answer %d %s", r.status, r.body)
	}
}

// TestLongPollSurvivesAPassivation: the view is evicted from memory during a wait.
func TestLongPollSurvivesAPassivation(t *testing.T) {
	w, address, key, latest := lone(t)
	got := w.waiting(latest+"?wait=60", key)
	w.awaitWaiters(1)
	w.inboxes.unload(address)
	w.deliver(address, inbox.Receive{Subject: "after"})
	if r := w.answer(got); r.object(t, "email", "subject") != "after" {
		t.Errorf("answer %s", r.body)
	}
}

// TestLongPollChecksAgainWhenItWakes: a message that arrives after a revocation, or in a deleted
// inbox, is not shown.
func TestLongPollChecksAgainWhenItWakes(t *testing.T) {
	w, address, _, latest := lone(t)
	revoked := w.key(alice, account.ScopeRead)
	got := w.waiting(latest+"?wait=60", revoked)
	w.awaitWaiters(1)
	w.accounts.RevokeKey(context.Background(), w.idOf(alice), 2)
	w.deliver(address, inbox.Receive{Subject: "secret"})
	if r := w.answer(got); r.status != 401 || strings.Contains(r.body, "secret") {
		t.Errorf("after the revocation: %d %s", r.status, r.body)
	}
	got = w.waiting(latest+"?after=1&wait=60", w.key(alice, account.ScopeRead))
	w.awaitWaiters(1)
	w.accounts.DeleteInbox(context.Background(), w.idOf(alice), address)
	if r := w.answer(got); r.status != 403 || r.detail() != "No inbox own@inbox.test for this API key" {
		t.Errorf("after the deletion: %d %s", r.status, r.body)
	}
}

// TestLongPollEndsWhenTheClientLeaves: nothing of it remains.
func TestLongPollEndsWhenTheClientLeaves(t *testing.T) {
	w, _, key, latest := lone(t)
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET %s?wait=60 HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", latest, key)
	w.awaitWaiters(1)
	c.Close()
	for deadline := time.Now().Add(30 * time.Second); w.server.LongPolls() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the long poll still waits")
		}
	}
}

// TestLongPollLeavesPipelinedRequestsAlone: what the client sends with the poll or during the wait
// is its next request.
func TestLongPollLeavesPipelinedRequestsAlone(t *testing.T) {
	w, address, key, latest := lone(t)
	c := w.dial()
	c.send("GET %s?wait=60 HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /nowh", latest, key)
	w.awaitWaiters(1)
	c.send("ere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	w.deliver(address, inbox.Receive{Subject: "mail"})
	for _, want := range []string{`"subject":"mail"`, `{"ok":true}`, detailNoPath} {
		if r := c.answer(); !strings.Contains(r.body, want) {
			t.Fatalf("%d %s, want %s", r.status, r.body, want)
		}
	}
	if !c.ended() {
		t.Error("the connection goes on")
	}
}

func TestShutdownEndsLongPolls(t *testing.T) {
	w := prepare(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.serve(ln)
	w.signUp(alice)
	address, key := w.newInbox(alice, "own"), w.key(alice, account.ScopeFull)
	got := w.waiting("/api/v1/inboxes/"+address+"/latest?wait=60", key)
	w.awaitWaiters(1)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if r := w.answer(got); r.status != 200 || r.body != `{"email":null}` {
		t.Errorf("answer %d %s", r.status, r.body)
	}
	if _, err := net.Dial("tcp", w.addr); err == nil {
		t.Error("the server still accepts")
	}
}

// TestVanishingContentIsNotShown: a message may be deleted between reading the view and the disk.
func TestVanishingContentIsNotShown(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "going"})
	w.inboxes.unload(address)
	w.inboxes.mu.Lock()
	delete(w.inboxes.stored[address], 1)
	w.inboxes.mu.Unlock()
	w.expect(503, w.call(methodGet, latest, key, ""))
	w.expect(404, w.call(methodGet, "/api/v1/inboxes/"+address+"/messages/1", key, ""))
	if r := w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+address+"/messages", key, "")); r.body != `{"emails":[],"has_more":false}` {
		t.Errorf("list %s", r.body)
	}
	w.inboxes.breakWith(fault.New(fault.TemporarilyUnavailable, "later"))
	w.expect(503, w.call(methodGet, "/api/v1/inboxes/"+address+"/messages", key, ""))
}

// TestClientsNeverSeeEachOthersAnswers runs 32 clients with an inbox each, while messages arrive.
func TestClientsNeverSeeEachOthersAnswers(t *testing.T) {
	const clients, rounds = 32, 30
	w := start(t)
	w.unbound = true
	w.signUp(alice)
	w.accounts.plans[account.PlanFree] = account.Plan{Name: account.PlanFree, MaxInboxes: clients, MaxRetentionHours: 72, DefaultRetentionHours: 24}
	var all sync.WaitGroup
	for i := range clients {
		prefix := fmt.Sprintf("client-%02d", i)
		address := w.newInbox(alice, prefix)
		key := w.keyFor(alice, address, account.ScopeFull)
		all.Go(func() {
			for n := 1; n <= rounds; n++ {
				subject := fmt.Sprintf("%s round %d", prefix, n)
				got := make(chan reply, 1)
				if n%3 == 0 {
					path := fmt.Sprintf("/api/v1/inboxes/%s/latest?after=%d&wait=20", address, n-1)
					go func() { r, _ := w.try(methodGet, path, key, ""); got <- r }()
				}
				w.deliver(address, inbox.Receive{Subject: subject, Content: &inbox.Content{Doc: message.ParsedMessage{Text: strings.Repeat(prefix, n*50)}}})
				if n%3 != 0 {
					r, _ := w.try(methodGet, "/api/v1/inboxes/"+address+"/latest", key, "")
					got <- r
				}
				r := <-got
				if r.status != 200 || !strings.Contains(r.body, `"subject":"`+subject+`"`) || strings.Count(r.body, "client-") != n*50+4 {
					t.Errorf("%s: %d %.300s", subject, r.status, r.body)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestBigResponsesAreNotKept: the response that a view carries is limited.
func TestBigResponsesAreNotKept(t *testing.T) {
	w, address, key, latest := lone(t)
	for size, kept := range map[int]bool{256 << 10: false, 128 << 10: true} {
		w.deliver(address, inbox.Receive{Content: &inbox.Content{Doc: message.ParsedMessage{Text: strings.Repeat("x", size)}}})
		for range 2 {
			if r := w.expect(200, w.call(methodGet, latest, key, "")); len(r.object(t, "email", "body").(string)) != size {
				t.Errorf("%d bytes: body cut", size)
			}
		}
		if got := w.inboxes.ResidentView([]byte(address)).Rendering() != nil; got != kept {
			t.Errorf("%d bytes: kept %v", size, got)
		}
	}
}

// TestALookIntoManyMailsTakesATurn: the texts for from= and subject= are folded once. A filter over
// many messages needs a turn like a search. Small inboxes do not wait.
func TestALookIntoManyMailsTakesATurn(t *testing.T) {
	w, address, key, latest := lone(t)
	w.deliver(address, inbox.Receive{Subject: "Straße", From: message.Mailbox{Email: "a@shop.test", Name: "Shop"}})
	busy := func() {
		for n := range max(1, runtime.GOMAXPROCS(0)/2) {
			done, err := w.server.searchTurns.TakeTurn(t.Context(), account.ID{byte(n + 1)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(done)
		}
	}
	few := func(t *testing.T) {
		for query, subject := range map[string]any{
			"?from=SHOP": "Straße", "?from=shop.test": "Straße", "?subject=STRA%C3%9FE": "Straße", "?from=shop&subject=e": "Straße",
			"?subject=shop": nil, "?from=e%C3%9F": nil, "?from=testshop": nil, "?from=shop&subject=x": nil,
		} {
			r := w.expect(200, w.call(methodGet, latest+query, key, ""))
			if subject == nil && r.body != `{"email":null}` || subject != nil && r.object(t, "email", "subject") != subject {
				t.Errorf("%s: %s", query, r.body)
			}
		}
	}
	few(t)
	if head, kept := w.server.textCache.Of(search.TextKey{InboxAddress: address, ID: 1, At: begin.UnixMilli(), HeadOnly: true}); !kept || !strings.Contains(head, "STRAß") {
		t.Errorf("kept: %q", head)
	}
	busy()
	few(t)
	for range mostUnasked {
		w.deliver(address, inbox.Receive{Subject: "x"})
	}
	w.expect(200, w.call(methodGet, latest, key, ""))
	w.expect(200, w.call(methodGet, latest+"?after=200&from=nobody", key, ""))
	if r := w.expect(503, w.call(methodGet, latest+"?from=nobody", key, "")); r.header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %v", r.header)
	}
}

// TestFrom: from= is an address, a domain or part of an address, and never a name, in each read.
func TestFrom(t *testing.T) {
	w, address, key, latest := lone(t)
	for _, from := range []message.Mailbox{
		{Email: "Login+eu@Bank.example", Name: "x"},
		{Email: "a@evil.example", Name: "login+eu@bank.example"},
		{Email: "a@bank.example.evil.example", Name: "Bank <login@bank.example>"},
		{Email: "rené@BÜCHER.example"},
		{Email: "login@bank.example"},
	} {
		w.deliver(address, inbox.Receive{Subject: "s", From: from})
	}
	for query, want := range map[string][]int64{
		"login%2Beu@bank.example": {1}, "LOGIN+EU@bank.EXAMPLE": {1}, "login@bank.example": {5}, "gin@bank.example": {},
		"@bank.example": {5, 1}, "@example": {}, "bank.example": {5, 3, 1}, "@XN--BCHER-KVA.example": {4}, "@bücher.example": {4},
		"rene%CC%81@xn--bcher-kva.example": {4}, "BÜCHER": {4}, "@evil.example": {2}, "Bank <login@bank.example>": {}, "evil": {3, 2},
		"login@": {5}, "@": {5, 4, 3, 2, 1}, "": {5, 4, 3, 2, 1},
	} {
		query = "from=" + strings.ReplaceAll(strings.NewReplacer("<", "%3C", ">", "%3E").Replace(query), " ", "%20")
		for _, list := range []string{inboxAt(address, "") + "/messages?", "/api/v1/messages?"} {
			if got := w.expect(200, w.call(methodGet, list+query, key, "")).ids(t); !slices.Equal(got, want) {
				t.Errorf("%s%s: %v, want %v", list, query, got, want)
			}
		}
		r := w.expect(200, w.call(methodGet, latest+"?"+query, key, ""))
		if len(want) == 0 && r.body != `{"email":null}` || len(want) > 0 && r.object(t, "email", "id") != float64(want[0]) {
			t.Errorf("latest?%s: %.80s, want %v", query, r.body, want)
		}
	}
}

// TestVerified: verified=true skips messages with unverified senders, and otp reports whether the
// sender is verified.
func TestVerified(t *testing.T) {
	w, address, key, latest := lone(t)
	for _, verified := range []bool{true, false} {
		w.deliver(address, inbox.Receive{Subject: "s", From: message.Mailbox{Email: "a@bank.example"},
			Content: &inbox.Content{OTP: inbox.OTP{Code: "123456", Source: "text"}, Auth: inbox.Auth{CheckingServer: "mx", FromVerified: verified}}})
	}
	for _, list := range []string{inboxAt(address, "") + "/messages?", "/api/v1/messages?"} {
		for query, want := range map[string][]int64{"verified=true": {1}, "verified=false": {2, 1}, "": {2, 1}} {
			if got := w.expect(200, w.call(methodGet, list+query, key, "")).ids(t); !slices.Equal(got, want) {
				t.Errorf("%s%s: %v, want %v", list, query, got, want)
			}
		}
	}
	for query, want := range map[string]float64{"?verified=true": 1, "": 2, "?verified=true&wait=1": 1} {
		r := w.expect(200, w.call(methodGet, latest+query, key, ""))
		verified := want == 1
		if r.object(t, "email", "id") != want || r.object(t, "email", "otp", "sender_verified") != verified || r.object(t, "email", "auth", "sender_verified") != verified {
			t.Errorf("%s: %s", query, r.body)
		}
	}
	w.expect(422, w.call(methodGet, latest+"?verified=maybe", key, ""))
	if r := w.expect(200, w.call(methodGet, latest+"?verified=true&after=1", key, "")); r.body != `{"email":null}` {
		t.Errorf("after the last: %s", r.body)
	}
}
