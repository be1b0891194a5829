package http

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

const batchPath, allPath = "/api/v1/inboxes/batch", "/api/v1/messages"

// results returns the results of a batch, as "201 address" or "400 code field detail".
func (r reply) results(t testing.TB) (out []string) {
	t.Helper()
	var got struct {
		Results []struct {
			Status int
			Inbox  struct{ Address string }
			Code   string
			Field  string
			Detail string
		}
	}
	r.into(t, &got)
	for _, one := range got.Results {
		if text := fmt.Sprint(one.Status, " ", one.Inbox.Address); one.Detail == "" {
			out = append(out, text)
		} else {
			out = append(out, text+strings.Join([]string{one.Code, one.Field, one.Detail}, " "))
		}
	}
	return out
}

// TestABatchGivesEachItsOwnResult: what a single creation would respond, in order. The first
// entries get the available places.
func TestABatchGivesEachItsOwnResult(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	key := w.key(alice, account.ScopeManage)
	body := `{"inboxes":[{"prefix":"a"},{"prefix":"A b"},{"nope":1},{"prefix":"a"},{"retention_hours":0},7,{"prefix":"b"},{"prefix":"c"},{"prefix":"d"}]}`
	got := w.expect(200, w.call(methodPost, batchPath, key, body)).results(t)
	for i, want := range []string{
		"201 a@", "422 validation prefix ", "422 validation nope Invalid request: 'nope' is not a field", "400 address_taken prefix The address a@",
		"422 validation retention_hours Invalid request: 'retention_hours' is 0", "422 validation  Invalid request: the body must be a JSON object",
		"201 b@", "201 c@", "400 plan_limit  Free plan allows at most 3 agent inboxes",
	} {
		if len(got) != 9 || !strings.HasPrefix(got[i], want) {
			t.Fatalf("entry %d of %v, want %s", i, got, want)
		}
	}
	for body, detail := range map[string]string{
		`{}`: "'inboxes' is required", `{"inboxes":null}`: "'inboxes' is required", `{"inboxes":{}}`: "'inboxes' must be an array of objects",
		`{"inboxes":[]}`: "'inboxes' must have at least one entry", `{"inboxes":[{}],"x":1}`: "'x' is not a field of this request",
		`{"inboxes":[` + strings.Repeat("{},", 1000) + `{}]}`: "'inboxes' has too many entries (1001). The limit is 1000",
	} {
		if r := w.expect(422, w.call(methodPost, batchPath, key, body)); !strings.HasPrefix(r.detail(), "Invalid request: "+detail) {
			t.Errorf("%.40s: %s", body, r.detail())
		}
	}
}

// TestTheFirstOfABatchHasItsPrefix, even if many are created concurrently and creation is slow.
func TestTheFirstOfABatchHasItsPrefix(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	w.accounts.plans[account.PlanFree] = account.DefaultPlans()[account.PlanPaid]
	var body strings.Builder
	slow := map[string]bool{}
	for i := range 400 {
		fmt.Fprintf(&body, `,{"prefix":"box%d"}`, i/2)
		slow[fmt.Sprint("box", i/2)] = i < 40
	}
	var mu sync.Mutex // guards slow and begun
	begun, many := 0, make(chan struct{})
	w.accounts.creating = func(o inbox.CreationRequest) {
		mu.Lock()
		if begun++; begun == 100 {
			close(many)
		}
		waits := slow[*o.Prefix]
		slow[*o.Prefix] = false // another one with this prefix would be first
		mu.Unlock()
		if waits {
			<-many
		}
	}
	got := w.expect(200, w.call(methodPost, batchPath, w.key(alice, account.ScopeManage), `{"inboxes":[`+body.String()[1:]+`]}`)).results(t)
	for i, one := range got {
		if want := []string{"201 ", "400 "}[i%2]; !strings.HasPrefix(one, want) {
			t.Errorf("entry %d: %s, want %s", i, one, want)
		}
	}
}

// TestABatchIsDoneOnce under its idempotency key, and the key is refused for another batch.
func TestABatchIsDoneOnce(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	w.accounts.plans[account.PlanFree] = account.DefaultPlans()[account.PlanPaid]
	key := w.key(alice, account.ScopeManage)
	body := `{"inboxes":[` + strings.Repeat("{},", 299) + `{"prefix":"last"}]}`
	call := func(body string) reply { return w.call(methodPost, batchPath, key, body, "Idempotency-Key", "fleet-1") }
	first := w.expect(200, call(body)).results(t)
	if again := w.expect(200, call(body)).results(t); !slices.Equal(first, again) || !strings.HasPrefix(first[299], "201 last@") {
		t.Errorf("again: %v", again)
	}
	seen := map[string]bool{}
	for _, one := range first {
		seen[one] = true
	}
	if len(seen) != 300 {
		t.Errorf("%d of 300 inboxes", len(seen))
	}
	if r := w.expect(422, call(`{"inboxes":[{}]}`)); !strings.Contains(r.detail(), "was already used with another request. Use a new key") {
		t.Error(r.detail())
	}
}

// TestMessagesOfAllInboxes pages through them, newest first, and filters them.
func TestMessagesOfAllInboxes(t *testing.T) {
	w, one, two, key := fleet(t)
	w.inboxes.Do(context.Background(), two, inbox.UpdateSettings{Label: new("Second Box")})
	for i := range 6 {
		address := []string{one, two}[i%2]
		w.deliver(address, inbox.Receive{
			Subject: fmt.Sprint("subject ", i), From: message.Mailbox{Email: fmt.Sprintf("s%d@shop.test", i)},
			EnvelopeTo: strings.Replace(address, "@", fmt.Sprintf("+t%d@", i), 1),
			Content:    &inbox.Content{Doc: message.ParsedMessage{Text: fmt.Sprint("body number ", i)}, OTP: inbox.OTP{Code: strings.Repeat("1", i%3)}},
		})
		if i%2 == 1 {
			w.advance(time.Minute) // pairs of messages have the same time
		}
	}
	w.inboxes.Do(context.Background(), one, inbox.MarkRead{ID: 1, Read: true})
	w.inboxes.Do(context.Background(), one, inbox.Submit{Raw: []byte("\r\n"), Subject: "subject 6", Recipients: []inbox.OutgoingRecipient{inbox.To("bob@far.test")}, Content: &inbox.Content{}})
	list := func(query string) (subjects []string, next string) {
		t.Helper()
		var got struct {
			Emails []struct{ Inbox, Subject string }
			Next   *string `json:"next_cursor"`
		}
		w.expect(200, w.call(methodGet, allPath+"?"+query, key, "")).into(t, &got)
		for _, e := range got.Emails {
			n := strings.TrimPrefix(e.Subject, "subject ")
			if want := []string{one, two}[(n[0]-'0')%2]; e.Inbox != want {
				t.Errorf("%s is in %s", e.Subject, e.Inbox)
			}
			subjects = append(subjects, n)
		}
		if got.Next != nil {
			next = *got.Next
		}
		return subjects, next
	}
	all, next := list("")
	if next != "" || !slices.Equal(all, []string{"4", "5", "2", "3", "0", "1"}) {
		t.Errorf("all: %v, then %q", all, next)
	}
	for _, size := range []int{1, 2, 4} {
		var paged []string
		for cursor := ""; ; {
			got, next := list(fmt.Sprint("limit=", size, "&cursor=", cursor))
			if paged = append(paged, got...); next == "" {
				break
			}
			cursor = next
		}
		if !slices.Equal(paged, all) {
			t.Errorf("by %d: %v", size, paged)
		}
	}
	since := begin.Add(time.Minute).Format(time.RFC3339)
	for query, want := range map[string][]string{
		"otp=true": {"4", "5", "2", "1"}, "from=S3@": {"3"}, "subject=SUBJECT 2": {"2"}, "q=number 5": {"5"}, "label=second": {"5", "3", "1"}, "since=" + since: {"4", "5", "2", "3"},
		"unread=true": {"4", "5", "2", "3", "1"}, "direction=out": {"6"}, "direction=all&limit=2": {"6", "4"}, "q=number&limit=2": {"4", "5"}, "fields=subject": all,
		"to=" + url.QueryEscape(strings.Replace(two, "@", "+t3@", 1)): {"3"}, "to=" + url.QueryEscape(two): nil, "label=none": nil,
	} {
		if got, _ := list(strings.ReplaceAll(query, " ", "%20")); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for query, detail := range map[string]string{
		"limit=1001": "'limit' must be between 1 and 1000", "cursor=x": "'cursor' is not a valid cursor of this list", "direction=up": "'direction' must be one of in, out, all",
	} {
		if r := w.expect(422, w.call(methodGet, allPath+"?"+query, key, "")); !strings.HasPrefix(r.detail(), "Invalid request: "+detail) {
			t.Errorf("%s: %s", query, r.detail())
		}
	}
	if r := w.expect(200, w.call(methodGet, allPath+"?fields=subject&limit=1", key, "")); !strings.Contains(r.body, `"subject":`) || strings.Contains(r.body, `"received_at"`) || strings.Contains(r.body, `"damaged"`) {
		t.Errorf("a field alone: %s", r.body)
	}
	w.inboxes.broken = fault.New(fault.TemporarilyUnavailable, "not now")
	w.expect(503, w.call(methodGet, allPath, key, ""))
	w.inboxes.broken = nil
	w.inboxes.spoil(one, 3, false)
	r := w.expect(200, w.call(methodGet, allPath+"?limit=2", key, ""))
	if !strings.Contains(r.body, `"damaged":[{"inbox":"`+one+`","id":3}]`) || !strings.Contains(r.body, `"subject 5"`) || strings.Contains(r.body, `"subject 2"`) {
		t.Errorf("with damage: %s", r.body)
	}
	w.inboxes.spoil(two, 1, true)
	r = w.expect(200, w.call(methodGet, allPath+"?otp=true", key, ""))
	if !strings.HasSuffix(r.body, `,{"inbox":"`+two+`","id":1}]}`) { // it is unknown whether it has a code
		t.Errorf("with a row that is damaged: %s", r.body)
	}
	w.inboxes.lost = two
	r = w.expect(200, w.call(methodGet, allPath, key, ""))
	if !strings.HasSuffix(r.body, `"damaged":[{"inbox":"`+one+`","id":3},{"inbox":"`+two+`"}]}`) || !strings.Contains(r.body, `"subject 2"`) {
		t.Errorf("with an inbox that is damaged: %s", r.body)
	}
	w.inboxes.lost = ""
	w.advance(time.Duration(account.DefaultPlans().Of(account.PlanFree).EffectiveRetention(nil)) * time.Hour)
	if got, next := list(""); got != nil || next != "" {
		t.Errorf("when all expired: %v, %q", got, next)
	}
}

// TestAListOfAllInboxesTakesATurn, and is charged before it reads.
func TestAListOfAllInboxesTakesATurn(t *testing.T) {
	w, address, key, _ := lone(t)
	w.deliver(address, inbox.Receive{Subject: "s"})
	for query, charge := range map[string]int64{
		"q=hello&fields=subject&limit=10": 10*listBodyBytes + maxContentBytes,
		"fields=body&limit=1000":          maxListBytes + maxContentBytes,
	} {
		free, answer := w.takeTurns(), make(chan reply, 1)
		go func() {
			r, err := w.try(methodGet, allPath+"?"+query, key, "")
			if err != nil {
				t.Error(err)
			}
			answer <- r
		}()
		eventually(t, query+" is charged", func() bool { return w.server.answerBudget.HeldBytes() == charge })
		w.expect(200, w.call(methodGet, inboxAt(address, "")+"/messages?fields=id", key, ""))
		if len(answer) > 0 {
			t.Errorf("%s is answered out of turn", query)
		}
		free()
		w.expect(200, <-answer)
		eventually(t, query+" is let go", func() bool { return w.server.answerBudget.HeldBytes() == 0 })
	}
}

// TestManyMessagesOfAllInboxes: a list keeps only candidates that it may show, and a search keeps
// all.
func TestManyMessagesOfAllInboxes(t *testing.T) {
	w, one, two, key := fleet(t)
	w.unbound = true
	const each = 2*maxInboxes + 100
	for i := range each {
		for _, address := range []string{one, two} {
			w.deliver(address, inbox.Receive{Subject: fmt.Sprint("subject ", i)})
		}
	}
	w.inboxes.spoil(one, 5, false)
	list := func(query string) (subjects []string, next bool, damaged int) {
		var got struct {
			Emails  []struct{ Subject string }
			Next    *string `json:"next_cursor"`
			Damaged []struct{ ID int64 }
		}
		w.expect(200, w.call(methodGet, allPath+"?fields=subject,"+query, key, "")).into(t, &got)
		for _, e := range got.Emails {
			subjects = append(subjects, e.Subject)
		}
		return subjects, got.Next != nil, len(got.Damaged)
	}
	if got, next, _ := list("id&limit=2"); len(got) != 2 || !next {
		t.Errorf("two: %v, %v", got, next)
	}
	if got, next, damaged := list("id&q=subject%200"); len(got) != 2 || next || damaged != 2 { // the oldest of each
		t.Errorf("searched: %v, %v, %d damaged", got, next, damaged)
	}
	delete(w.inboxes.stored[one], each)
	w.inboxes.unload(one)
	if got, next, _ := list("body&limit=1"); !slices.Equal(got, []string{fmt.Sprint("subject ", each-2)}) || !next {
		t.Errorf("behind one that is gone meanwhile: %v, %v", got, next)
	}
	f := fleetHandlers{inboxHandlers: &inboxHandlers{inboxManager: theInboxes{w.accounts, w.inboxes}}}
	r := &apiRequest{server: w.server, ctx: t.Context(), requestTime: w.now(), principal: &account.Principal{Account: w.accounts.byEmail[alice]}}
	a := fleetListing{messageListing: messageListing{pageLimit: 2, beforeID: math.MaxInt64, direction: "in"}, afterPlace: messagePlace{at: math.MaxInt64}}
	if found, _, err := f.listCandidates(r, &a); len(found) < 3 || len(found) > 4*maxInboxes || err != nil {
		t.Errorf("%d are kept in mind, %v", len(found), err)
	}
}

// TestAListOfAllInboxesIsRefused if there is no memory, no turn or no list of inboxes.
func TestAListOfAllInboxesIsRefused(t *testing.T) {
	w, address, key, _ := lone(t)
	w.deliver(address, inbox.Receive{Subject: "s"})
	me := w.accounts.byEmail[alice]
	w.server.turnPatience = time.Millisecond
	full := w.server.answerBudget.NewCharge(me)
	full.SetBytes(answersHeld / 2)
	w.expect(503, w.call(methodGet, allPath+"?q=s", key, ""))
	full.SetBytes(0)
	free := w.takeTurns()
	w.expect(503, w.call(methodGet, allPath, key, ""))
	free()
	w.inboxes.unlisted = fault.New(fault.TemporarilyUnavailable, "not now")
	w.expect(503, w.call(methodGet, allPath, key, ""))
	w.inboxes.unlisted = nil
	w.expect(200, w.call(methodGet, allPath+"?q=s", key, ""))
}

// TestMessagesOfMoreInboxesThanAPage: the newest message of all is shown, whatever the position of
// its inbox.
func TestMessagesOfMoreInboxesThanAPage(t *testing.T) {
	w, one, two, key := fleet(t)
	w.deliver(one, inbox.Receive{Subject: "of one"})
	w.deliver(two, inbox.Receive{Subject: "of two"})
	w.inboxes.pageMost = 1
	if r := w.expect(200, w.call(methodGet, allPath+"?fields=subject", key, "")); strings.Count(r.body, "of one")+strings.Count(r.body, "of two") != 2 {
		t.Errorf("two pages of inboxes: %s", r.body)
	}
}

// TestLongMessagesOfAllInboxes: texts are cut, and the list ends when it reaches maxListBytes.
func TestLongMessagesOfAllInboxes(t *testing.T) {
	w, address, key, _ := lone(t)
	w.unbound = true
	const all = maxListBytes/listBodyBytes + 50
	mail := mailOf("Subject: long\r\n\r\nx", inbox.OTP{})
	mail.Content.Doc.Text = strings.Repeat("x", 2*listBodyBytes)
	for range all {
		w.deliver(address, mail)
	}
	shown := 0
	for query := "?limit=1000&fields=body"; query != ""; {
		r := w.expect(200, w.call(methodGet, allPath+query, key, ""))
		var page struct {
			Emails []struct{ Body string }
			Next   *string `json:"next_cursor"`
		}
		r.into(t, &page)
		for _, e := range page.Emails {
			if len(e.Body) != listBodyBytes {
				t.Fatalf("a text of %d", len(e.Body))
			}
		}
		if len(r.body) > maxListBytes+2*listBodyBytes || len(page.Emails) == 0 {
			t.Fatalf("%d bytes with %d mails", len(r.body), len(page.Emails))
		}
		shown, query = shown+len(page.Emails), ""
		if page.Next != nil {
			query = "?limit=1000&fields=body&cursor=" + url.QueryEscape(*page.Next)
		}
	}
	if shown != all {
		t.Errorf("%d of %d are shown", shown, all)
	}
}

func TestOldMessagesAreCleared(t *testing.T) {
	for _, c := range []struct {
		tag, query string
		left       []int64
	}{
		{"", "before=3", []int64{4, 3}}, {"+a", "before=4.0", []int64{4, 2}}, {"", "older_than=1.0", []int64{4, 3}}, {"+a", "older_than=1", []int64{4, 3, 2}},
		{"", "before=1", []int64{4, 3, 2, 1}}, {"+none", "before=9", []int64{4, 3, 2, 1}}, {"", "before=9", nil},
	} {
		w, address, key, _ := lone(t)
		for i, tag := range []string{"+a", "+b", "+a", ""} {
			if i == 2 {
				w.advance(time.Hour + time.Second)
			}
			w.deliver(address, inbox.Receive{Subject: "s", EnvelopeTo: strings.Replace(address, "@", tag+"@", 1)})
		}
		w.advance(59 * time.Minute)
		r := w.expect(200, w.call(methodDelete, inboxAt(address, c.tag)+"/messages?"+c.query, key, ""))
		left := w.expect(200, w.call(methodGet, inboxAt(address, "")+"/messages", key, "")).ids(t)
		if !slices.Equal(left, c.left) && len(left)+len(c.left) > 0 || r.body != fmt.Sprintf(`{"ok":true,"deleted":%d}`, 4-len(c.left)) {
			t.Errorf("%s %s: %v left, %s", c.tag, c.query, left, r.body)
		}
	}
	w, address, key, _ := lone(t)
	for _, query := range []string{"", "before=1&older_than=1", "before=x", "before=0", "before=1.5", "older_than=0", "older_than=87601"} {
		w.expect(422, w.call(methodDelete, inboxAt(address, "")+"/messages?"+query, key, ""))
	}
}

// TestListsOfSomeInboxes by label and prefix, across pages.
func TestListsOfSomeInboxes(t *testing.T) {
	w, _, key, _ := lone(t)
	w.accounts.plans[account.PlanFree] = account.DefaultPlans()[account.PlanPaid]
	for i := range 9 {
		address := w.newInbox(alice, fmt.Sprintf("%s-%d", []string{"red", "blue", "green"}[i%3], i))
		w.inboxes.Do(context.Background(), address, inbox.UpdateSettings{Label: new(fmt.Sprint("Lane ", i%2))})
	}
	list := func(query string) (names []string) {
		t.Helper()
		for cursor := ""; ; {
			var got struct {
				Inboxes []struct{ Address string }
				Next    *string `json:"next_cursor"`
			}
			w.expect(200, w.call(methodGet, "/api/v1/inboxes?"+query+"&cursor="+url.QueryEscape(cursor), key, "")).into(t, &got)
			for _, in := range got.Inboxes {
				name, _, _ := strings.Cut(in.Address, "@")
				names = append(names, name)
			}
			if got.Next == nil {
				slices.Sort(names)
				return names
			}
			cursor = *got.Next
		}
	}
	for query, want := range map[string][]string{
		"prefix=red": {"red-0", "red-3", "red-6"}, "prefix=BLUE-": {"blue-1", "blue-4", "blue-7"}, "label=lane%201": {"blue-1", "blue-7", "green-5", "red-3"},
		"label=lane%201&prefix=b": {"blue-1", "blue-7"}, "prefix=none": nil, "label=none": nil,
	} {
		for _, limit := range []string{"", "&limit=1", "&limit=2", "&limit=3"} {
			if got := list(query + limit); !slices.Equal(got, want) {
				t.Errorf("%s%s: %v, want %v", query, limit, got, want)
			}
		}
	}
	w.inboxes.lost = "red-3@inbox.test"
	if got := list("prefix=red"); !slices.Equal(got, []string{"red-0", "red-6"}) {
		t.Errorf("where one is damaged: %v", got)
	}
	for query, named := range map[string]bool{"": true, "prefix=red": true, "prefix=blue": false} {
		r := w.expect(200, w.call(methodGet, "/api/v1/inboxes?"+query, key, ""))
		if strings.HasSuffix(r.body, `,"damaged":["red-3@inbox.test"]}`) != named {
			t.Errorf("%q: %s", query, r.body)
		}
	}
}
