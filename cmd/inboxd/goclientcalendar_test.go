package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"inboxd/http/client"
)

// agents are two inboxes of one node, used with the public Go client.
type agents struct {
	*client.Client
	t           *testing.T
	ctx         context.Context
	host, guest string
}

// listen waits for the next message about a meeting in an inbox.
func (a *agents) listen(address, subject string) *client.Message {
	a.t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		m, err := a.Latest(a.ctx, address, client.LatestQuery{Subject: subject, Wait: 10 * time.Second})
		if err != nil {
			a.t.Fatal(err)
		}
		if m != nil {
			if m.CalendarEvent == nil || m.CalendarEvent.EventID == nil {
				a.t.Fatalf("%s says nothing of a meeting: %+v", subject, m)
			}
			return m
		}
	}
	a.t.Fatalf("no mail came: %s", subject)
	return nil
}

// meeting returns a meeting that must exist.
func (a *agents) meeting(address string, id int64) client.Meeting {
	a.t.Helper()
	m, err := a.Calendar(address).Meeting(a.ctx, id)
	if err != nil {
		a.t.Fatal(err)
	}
	return m
}

// TestAgentsMeet: an agent invites another one of the same node, which accepts. Both calendars and
// their feeds show the meeting, also after kill -9. Then it is moved and cancelled.
func TestAgentsMeet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, "--default-plan=paid")
	u := s.signUp(t, "me@example.test")
	a := &agents{client.New("http://"+s.http, u.key), t, t.Context(), u.inbox(t, "host"), u.inbox(t, "guest")}
	order := client.MeetingOrder{Title: "Review", Start: "2027-03-01T15:00", Timezone: "Europe/Berlin", Location: "Room 2",
		Attendees: []client.Guest{{Email: a.guest, Name: "Guest"}}, IdempotencyKey: "once"}
	made, err := a.Calendar(a.host).Schedule(a.ctx, order)
	if err != nil || made.MessageID == nil || made.Event.Source != "outbound" || made.Event.Attendees[0].Status != "needs-action" {
		t.Fatalf("%+v %v", made, err)
	}
	if again, err := a.Calendar(a.host).Schedule(a.ctx, order); err != nil || again.Event.ID != made.Event.ID || *again.MessageID != *made.MessageID {
		t.Errorf("a repeat: %+v %v", again, err)
	}
	invitation := a.listen(a.guest, "Invitation: Review")
	id := *invitation.CalendarEvent.EventID
	if e := invitation.CalendarEvent; e.Action != "created" || e.UID != made.Event.UID || e.MyStatus != "needs-action" {
		t.Errorf("%+v", e)
	}
	if _, err := a.Calendar(a.guest).Update(a.ctx, id, client.MeetingChange{Title: &order.Title}); client.StatusOf(err) != 403 || !strings.HasPrefix(err.Error(), "Meeting 1 was organized by "+a.host+", and only the organizer can change or cancel it. Answer it with rsvp (HTTP 403, request ") {
		t.Errorf("the guest changed it: %v", err)
	}
	if _, err := a.Calendar(a.guest).Answer(a.ctx, id, "accepted", "Gladly.", ""); err != nil {
		t.Fatal(err)
	}
	if m := a.listen(a.host, "Accepted: Review"); m.CalendarEvent.Action != "replied" || *m.CalendarEvent.EventID != made.Event.ID {
		t.Errorf("%+v", m.CalendarEvent)
	}
	if m := a.meeting(a.host, made.Event.ID); m.Attendees[0].Status != "accepted" || m.Conflicts == nil {
		t.Errorf("%+v", m)
	}
	if m := a.meeting(a.guest, id); m.MyStatus != "accepted" {
		t.Errorf("%+v", m)
	}
	a.follow(map[string]string{a.host: "PARTSTAT=ACCEPTED", a.guest: "SUMMARY:Review"})
	before := []client.Meeting{a.meeting(a.host, made.Event.ID), a.meeting(a.guest, id)}
	s.kill()
	a.Client = client.New("http://"+launch(t, dir, "--default-plan=paid").http, u.key)
	if after := []client.Meeting{a.meeting(a.host, made.Event.ID), a.meeting(a.guest, id)}; !reflect.DeepEqual(after, before) {
		t.Errorf("after kill -9\n%+v\nbefore\n%+v", after, before)
	}
	a.moveAndCancel(made.Event.ID, id)
}

// moveAndCancel checks what the guest sees.
func (a *agents) moveAndCancel(id, guests int64) {
	a.t.Helper()
	start := "2027-03-02T15:00:00Z"
	if moved, err := a.Calendar(a.host).Update(a.ctx, id, client.MeetingChange{Start: &start}); err != nil || moved.MessageID == nil || moved.Event.Attendees[0].Status != "needs-action" {
		a.t.Fatalf("%+v %v", moved, err)
	}
	if m := a.listen(a.guest, "Updated invitation: Review"); m.CalendarEvent.Action != "updated" || !m.CalendarEvent.Start.Equal(time.Date(2027, 3, 2, 15, 0, 0, 0, time.UTC)) {
		a.t.Errorf("%+v", m.CalendarEvent)
	}
	if busy, err := a.Calendar(a.guest).FreeBusy(a.ctx, time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 3, 8, 0, 0, 0, 0, time.UTC)); err != nil || len(busy) != 1 || busy[0].Status != "needs-action" || busy[0].EventID != guests {
		a.t.Errorf("%+v %v", busy, err)
	}
	if same, err := a.Calendar(a.host).Update(a.ctx, id, client.MeetingChange{Start: &start}); err != nil || same.MessageID != nil {
		a.t.Errorf("nothing changed: %+v %v", same, err)
	}
	if _, err := a.Calendar(a.host).Cancel(a.ctx, id, "Sorry.", ""); err != nil {
		a.t.Fatal(err)
	}
	a.listen(a.guest, "Cancelled: Review")
	count := func(q client.MeetingQuery) (n int) {
		for m, err := range a.Calendar(a.guest).Meetings(a.ctx, q) {
			if n++; err != nil || m.Status != "cancelled" {
				a.t.Errorf("%+v %v", m, err)
			}
		}
		return n
	}
	if count(client.MeetingQuery{}) != 0 || count(client.MeetingQuery{Cancelled: true}) != 1 {
		a.t.Error("a cancelled meeting is listed when it is asked for, and only then")
	}
}

// follow reads both calendars as calendar programs do.
func (a *agents) follow(parts map[string]string) {
	a.t.Helper()
	for address, part := range parts {
		feed, err := a.Calendar(address).Feed(a.ctx)
		if err != nil || feed.LastFetchedAt != nil || feed.Stale {
			a.t.Fatalf("%+v %v", feed, err)
		}
		text, status := fetched(a.t, feed.URL)
		if status != 200 || !strings.Contains(strings.ReplaceAll(text, "\r\n ", ""), part) {
			a.t.Errorf("%d, no %s in %s", status, part, text)
		}
		if feed, err = a.Calendar(address).Feed(a.ctx); err != nil || feed.LastFetchedAt == nil || feed.LastClient != "Thunderbird" {
			a.t.Errorf("%+v %v", feed, err)
		}
		rotated, err := a.Calendar(address).RotateFeed(a.ctx, "again")
		if repeat, again := a.Calendar(address).RotateFeed(a.ctx, "again"); err != nil || again != nil || repeat.URL != rotated.URL || rotated.URL == feed.URL {
			a.t.Errorf("%+v %v, once more %+v %v", rotated, err, repeat, again)
		}
		if _, status = fetched(a.t, feed.URL); status != 404 {
			a.t.Errorf("an old link gives %d", status)
		}
		if err := a.Calendar(address).HideFeed(a.ctx); err != nil {
			a.t.Error(err)
		}
		if _, status = fetched(a.t, rotated.URL); status != 404 {
			a.t.Errorf("a link that was turned off gives %d", status)
		}
	}
}

func fetched(t *testing.T, url string) (text string, status int) {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), resp.StatusCode
}

// TestOwnerCopiesAreSet: copies are off by default; the address is the sign-in address.
func TestOwnerCopiesAreSet(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	agent, address := client.New("http://"+s.http, u.key), u.inbox(t, "own")
	var seen []client.OwnerCopies
	for _, call := range []func() (client.OwnerCopies, error){
		func() (client.OwnerCopies, error) { return agent.Calendar(address).OwnerCopies(t.Context()) },
		func() (client.OwnerCopies, error) {
			return agent.Calendar(address).SetOwnerCopies(t.Context(), true)
		},
		func() (client.OwnerCopies, error) { return agent.Calendar(address).OwnerCopies(t.Context()) },
	} {
		set, err := call()
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, set)
	}
	off := client.OwnerCopies{Email: "me@example.test", Available: true}
	on := off
	on.Enabled = true
	if !slices.Equal(seen, []client.OwnerCopies{off, on, on}) {
		t.Errorf("%+v", seen)
	}
}
