package benchtest

import (
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"time"
)

func (f *Fake) create(c *call) (int, any) {
	status, body, others := f.make(c)
	if time.Sleep(f.slow); f.mute && others {
		c.HijackSetNoResponse(true)
		c.Hijack(func(net.Conn) {})
		return 0, nil
	}
	return status, body
}

// make makes an inbox, and says whether there were others.
func (f *Fake) make(c *call) (status int, body any, others bool) {
	var order struct{ Prefix string }
	_ = json.Unmarshal(c.PostBody(), &order)
	address := order.Prefix + "@inbox.localhost"
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inboxes[address] != nil {
		return 400, refusal("The address " + address + " is taken"), true
	}
	others = len(f.inboxes) > 0
	f.commit(fakeRecord{Address: address, Key: c.key})
	return 201, map[string]any{"address": address, "api_key": nil}, others
}

func (f *Fake) remove(c *call) (int, any) {
	f.commit(fakeRecord{Address: c.address, Gone: true})
	return f.forget(c)
}

// fakePage is smaller than what is asked for, so that every listing takes several pages.
const fakePage = 7

func (f *Fake) list(c *call) (int, any) {
	from, _ := strconv.Atoi(string(c.QueryArgs().Peek("cursor")))
	items, next := []any{}, any(nil)
	for i := from; i < len(f.order); i++ {
		if len(items) == fakePage {
			next = strconv.Itoa(i)
			break
		}
		if in := f.inboxes[f.order[i]]; in.key == c.key {
			items = append(items, map[string]any{"address": f.order[i], "message_count": len(in.codes)})
		}
	}
	return 200, map[string]any{"inboxes": items, "next_cursor": next}
}

// all are the mails of an account, on one page.
func (f *Fake) all(c *call) (int, any) {
	emails := []any{}
	for address, in := range f.inboxes {
		for i, code := range in.codes {
			if in.key == c.key {
				emails = append(emails, map[string]any{"inbox": address, "id": i + 1, "otp_code": f.shown(code)})
			}
		}
	}
	return 200, map[string]any{"emails": emails, "next_cursor": nil}
}

// meetings takes every mail for an invitation.
func (f *Fake) meetings(c *call) (int, any) {
	events := []any{}
	for i := range f.inboxes[c.address].codes {
		events = append(events, map[string]any{"id": i + 1})
	}
	return 200, map[string]any{"events": events, "next_cursor": nil}
}

func (f *Fake) share(*call) (int, any) {
	return 200, map[string]string{"feed_url": "http://inbox.localhost/calendar/feeds/token.ics"}
}

func (f *Fake) send(c *call) (int, any) {
	f.sent++
	f.deliver(c.PostBody())
	return 202, map[string]any{"ok": true, "queued": true, "message_id": f.sent}
}

// refused counts, and says that every third is to be refused.
func (f *Fake) refused(n *int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	*n++
	return f.refuse && *n%3 == 0
}

func (f *Fake) latestOfAgent(c *call) (int, any) { return f.latest(c, true) }

func (f *Fake) latestOfInbox(c *call) (int, any) { return f.latest(c, false) }

// latest answers when there is a mail behind the one that is known, or the time to wait is over.
func (f *Fake) latest(c *call, agents bool) (int, any) {
	if f.refused(&f.polled) {
		c.Response.Header.Set("Retry-After", "1")
		return 503, refusal("Too much to do")
	}
	address := strings.Replace(c.address, "+lane@", "@", 1)
	after, _ := c.QueryArgs().GetUint("after")
	wait, _ := c.QueryArgs().GetUint("wait")
	for end := time.After(time.Duration(max(wait, 0)) * time.Second); ; {
		email, changed, known := f.newest(address, c.key, agents, max(after, 0))
		switch {
		case !known:
			return 403, refusal("No inbox " + address + " for this API key")
		case email != nil || wait <= 0:
			return 200, map[string]any{"email": email}
		}
		select {
		case <-changed:
		case <-end:
			return 200, map[string]any{"email": nil}
		}
	}
}

// newest is the mail of an inbox that is newer than one, nil for none, and what is closed at the next.
func (f *Fake) newest(address, key string, agents bool, than int) (email any, changed <-chan struct{}, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := f.inboxes[address]
	if in == nil || in.own != key && (in.key != key || !agents) {
		return nil, nil, false
	}
	switch id := len(in.codes); {
	case id <= than:
	case in.sealed && !f.wrongCode:
		email = map[string]any{"id": id, "otp_code": nil, "encrypted": true, "envelope": "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0="}
	default:
		email = map[string]any{"id": id, "otp_code": f.shown(in.codes[id-1])}
	}
	return email, f.changed, true
}
