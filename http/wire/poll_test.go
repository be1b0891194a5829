package wire

import (
	"bufio"
	"bytes"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

const (
	own    = "own@inbox.test"
	tagged = "own+tag@inbox.test"
)

// polls returns plain polls of an inbox with a cached response; its key is k.
func polls() (w *ConnServer, c *deadlineConn, polls map[string][]byte) {
	p := &account.Principal{Hash: account.HashToken([]byte("k")), Kind: account.KindInboxKey}
	view := inbox.NewView(&inbox.State{})
	NewResponse(own, bytes.Repeat([]byte("x"), 2000), []byte(`"1-new"`), time.Time{}).KeepInView(view)
	w = New(Options{MaxConns: 1, PartitionOwner: partition.NewOwner(partition.AllGroups()), AllowPoll: func(PollRequest, time.Time) (*account.Principal, *inbox.View) { return p, view }})
	w.KeepTagView(view, tagged, NewResponse(tagged, bytes.Repeat([]byte("t"), 2000), []byte(`"1-new"`), time.Time{}))
	polls = map[string][]byte{"tag": []byte("GET /api/v1/inboxes/" + tagged + "/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: k\r\n\r\n")}
	polls["received"] = []byte("GET /api/v1/inboxes/" + own + "/latest?direction=in HTTP/1.1\r\nHost: x\r\nX-API-Key: k\r\n\r\n")
	for name, p := range map[string][2]string{
		"agent":     {"/api/v1/inboxes/", "X-API-Key: k"},
		"per-inbox": {"/api/inboxes/", "X-API-Key: k"},
		"bearer":    {"/api/v1/inboxes/", "Authorization: Bearer k"},
		"304":       {"/api/v1/inboxes/", "X-API-Key: k\r\nIf-None-Match: \"1-new\""},
	} {
		polls[name] = []byte("GET " + p[0] + own + "/latest HTTP/1.1\r\nHost: x\r\n" + p[1] + "\r\n\r\n")
	}
	return w, &deadlineConn{Conn: discard{}, connNumber: 7, wire: w}, polls
}

// TestAPollAllocatesNothing covers all work of the wire except the system call.
func TestAPollAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, c, polls := polls()
	for name, request := range polls {
		allocs := testing.AllocsPerRun(200, func() {
			if ok, err := w.answerPoll(c, request, time.Now()); !ok || err != nil {
				t.Fatal(name, ok, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations per poll", name, allocs)
		}
	}
}

func BenchmarkPoll(b *testing.B) {
	w, c, polls := polls()
	for _, name := range slices.Sorted(maps.Keys(polls)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := w.answerPoll(c, polls[name], time.Now()); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

// discard is a connection that accepts all writes.
type discard struct{ net.Conn }

func (discard) Write(p []byte) (int, error)      { return len(p), nil }
func (discard) SetWriteDeadline(time.Time) error { return nil }

// FuzzParsePoll: fasthttp parses every plain poll in the same way, and finds nothing else in it.
func FuzzParsePoll(f *testing.F) {
	poll := "GET /api/v1/inboxes/a@b.c/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: k\r\n\r\n"
	for _, seed := range []string{
		poll, strings.Replace(poll, "a@b", "a+t@b", 1), strings.Replace(poll, "/v1", "", 1), strings.Replace(poll, "X-API-Key: ", "Authorization: Bearer ", 1), strings.Replace(poll, "Host", "If-None-Match: \"1\"\r\nHost", 1), strings.Replace(poll, ": k", ":k\t", 1),
		strings.Replace(poll, "/latest", "/latest?direction=in", 1), strings.Replace(poll, "/latest", "/latest?direction=out", 1),
		poll + "x", strings.Replace(poll, "Host: x", "Host: x\r\nContent-Length: 1", 1), strings.Replace(poll, "\r\n", "\n", 1),
		strings.Replace(poll, "Host: x", "Host: :x", 1), strings.Replace(poll, "Host: x", "Host: x:80", 1), strings.Replace(poll, "Host: x", "Host: [::1]:80", 1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q, ok := parsePoll(b)
		if !ok {
			return
		}
		r := bufio.NewReaderSize(bytes.NewReader(b), len(b)+16)
		var h fasthttp.RequestHeader
		if err := h.Read(r); err != nil {
			t.Fatalf("fasthttp refuses it: %v", err)
		}
		var of PollRequest
		plain := of.readPath(h.RequestURI())
		key, bearer := h.PeekCanonical([]byte("X-Api-Key")), h.PeekCanonical([]byte("Authorization"))
		token := append(key[:len(key):len(key)], bytes.TrimLeft(bytes.TrimPrefix(bearer, bearerScheme), " ")...)
		why, chunked := isAmbiguous(h.RawHeaders())
		switch {
		case r.Buffered() != 0:
			t.Error("something follows")
		case !plain || !bytes.Equal(of.InboxAddress, q.InboxAddress) || of.PerInbox != q.PerInbox:
			t.Errorf("path %q %v and %q %v", of.InboxAddress, of.PerInbox, q.InboxAddress, q.PerInbox)
		case len(key) > 0 && len(bearer) > 0, !bytes.Equal(token, q.BearerToken):
			t.Errorf("token %q and %q", token, q.BearerToken)
		case !h.IsGet() || h.ConnectionClose() || h.ContentLength() > 0 || h.ContentLength() == -1:
			t.Errorf("method %s, close %v, length %d", h.Method(), h.ConnectionClose(), h.ContentLength())
		case why != "" || chunked:
			t.Error(why, chunked)
		case new(fasthttp.URI).Parse(h.Host(), h.RequestURI()) != nil:
			t.Errorf("fasthttp refuses the host %q", h.Host())
		case !bytes.Equal(h.PeekCanonical(headerIfNoneMatch), q.ifNoneMatch):
			t.Errorf("If-None-Match %q and %q", h.PeekCanonical(headerIfNoneMatch), q.ifNoneMatch)
		}
	})
}

// TestAPollOfAMovedInboxIsNotAnswered from memory: the route decides until the group returns.
func TestAPollOfAMovedInboxIsNotAnswered(t *testing.T) {
	w, c, polls := polls()
	allow, asked := w.opts.AllowPoll, 0
	group := partition.Of(own).Group()
	w.opts.AllowPoll = func(q PollRequest, now time.Time) (*account.Principal, *inbox.View) {
		if asked++; !w.opts.PartitionOwner.OwnsGroup(group) {
			return nil, nil
		}
		return allow(q, now)
	}
	for step, want := range []struct {
		owns, answered bool
		asked          int
	}{{true, true, 1}, {true, true, 1}, {false, false, 2}, {false, false, 3}, {true, true, 3}} {
		w.opts.PartitionOwner.SetOwned(group, want.owns)
		if ok, err := w.answerPoll(c, polls["agent"], time.Now()); ok != want.answered || err != nil || asked != want.asked {
			t.Errorf("step %d: answered %v, %v, after %d questions, want %+v", step, ok, err, asked, want)
		}
	}
}
