package inbox_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/persist/persisttest"
)

var (
	start = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	owner = account.NewID(start, [10]byte{1})
)

// roomy is the default capacity of plans.
var roomy = inbox.CapacityOf(account.DefaultPlans().Of(account.PlanFree))

func env(now time.Time) inbox.Env { return inbox.Env{Now: now, Capacity: roomy} }

func create() inbox.Create {
	return inbox.Create{Address: "a@inbox.localhost", Account: owner, RetentionHours: 24, At: start}
}

func mail(subject string) inbox.Receive {
	return inbox.Receive{
		From: message.Mailbox{Email: "s@example.test"}, EnvelopeTo: "a@inbox.localhost", Subject: subject,
		Content: &inbox.Content{Doc: message.ParsedMessage{Subject: subject}, OTP: inbox.OTP{Code: "123456"}}, Raw: []byte("Subject: " + subject + "\r\n\r\n"),
	}
}

// begin begins the rows of a change to s.
func begin(s *inbox.State) *inbox.Rows {
	r := new(inbox.Rows)
	r.Begin(s)
	return r
}

// change applies the events of one command and returns their rows.
func change(s *inbox.State, evs []inbox.Event) *inbox.Rows {
	r := begin(s)
	r.Apply(s, evs)
	return r
}

// TestReplay checks that a state rebuilt from its rows equals the state in memory, for any commands
// and any grouping into commits.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { replay(t, draw) })
}

// replay changes a state by drawn commands, and returns how many sent messages became final.
func replay(t *rapid.T, draw func(*rapid.T, *inbox.State, time.Time) inbox.Command) (settled int) {
	store := persisttest.OpenStore(t)
	now := start
	state := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	highest := int64(0)
	for range rapid.IntRange(1, 12).Draw(t, "commits") {
		rows := begin(state)
		changed := false
		for range rapid.IntRange(1, 5).Draw(t, "group") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40*3600).Draw(t, "s")) * time.Second)
			cmd := draw(t, state, now)
			tight := inbox.Env{Now: now, Capacity: inbox.Capacity{MaxMessages: rapid.IntRange(1, 6).Draw(t, "room"), MaxBytes: rapid.Int64Range(16, 100).Draw(t, "bytes")}}
			evs, outcome, err := inbox.Decide(state, cmd, tight)
			if err != nil {
				continue
			}
			before := state.Messages
			if adds(cmd) && !outcome.IsDuplicate && outcome.ID != 0 {
				if outcome.ID <= highest {
					t.Fatalf("id %d was given again", outcome.ID)
				}
				highest = outcome.ID
			}
			met := lastMeeting(state)
			changed = changed || len(evs) > 0
			rows.Apply(state, evs)
			for i, p := range rows.PublicEvents {
				if p.SequenceNumber != state.LastEvent-uint64(len(rows.PublicEvents)-1-i) {
					t.Fatalf("event %d of %d is number %d, the last one is %d", i, len(rows.PublicEvents), p.SequenceNumber, state.LastEvent)
				}
			}
			if now := lastMeeting(state); now < met {
				t.Fatalf("meeting ids went back from %d to %d", met, now)
			}
			if adds(cmd) && !outcome.IsDuplicate {
				compareRoom(t, before, state, tight)
			}
		}
		if changed {
			if err := store.CommitInbox(rows); err != nil {
				t.Fatal(err)
			}
			settled += len(rows.FinalMessages)
		}
		rebuilt, _ := store.LoadInbox(state.Address)
		compare(t, state, rebuilt, store)
		compareQueue(t, state, store)
	}
	return settled
}

func draw(t *rapid.T, s *inbox.State, now time.Time) inbox.Command {
	id := rapid.Int64Range(1, s.LastID+1).Draw(t, "id")
	digest := inbox.MessageDigest{byte(rapid.IntRange(1, 2).Draw(t, "digest"))}
	several, one := mail("several"), mail("one")
	several.Digest = digest
	label := "named"
	hour := func(name string) time.Time {
		return start.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, name)) * time.Hour)
	}
	again := create()
	again.At = start.Add(time.Duration(s.LastID+1) * time.Hour)
	again.Encrypted = rapid.Bool().Draw(t, "encrypted")
	return sealedFor(t, s, rapid.SampledFrom(slices.Concat(drawSending(t, id), drawMeetings(t, s, now), []inbox.Command{
		again, one, mail("two"), several, inbox.ConfirmReceipt{Digest: digest},
		inbox.MarkAmbiguous{ID: id, Digest: one.RepeatDigest()}, inbox.ConfirmReceipt{Digest: one.RepeatDigest()}, inbox.MarkRead{ID: id, Read: true},
		inbox.MarkRead{ID: id}, inbox.DeleteMessage{ID: id}, inbox.Burn{}, inbox.Delete{}, inbox.Erase{Account: owner}, inbox.RemoveExpired{}, inbox.RemoveExpired{At: hour("due")}, inbox.UpdateSettings{Label: &label},
		inbox.UpdateSettings{KeepNewest: new(true)}, inbox.UpdateSettings{KeepNewest: new(false)},
	})).Draw(t, "command"))
}

func compare(t *rapid.T, memory, rebuilt *inbox.State, store *persisttest.TestStore) {
	if memory.Profile != rebuilt.Profile {
		t.Fatalf("profile in memory %+v\nfrom rows %+v", memory.Profile, rebuilt.Profile)
	}
	if memory.RepeatableCount != rebuilt.RepeatableCount {
		t.Fatalf("%d unsettled in memory, %d from rows", memory.RepeatableCount, rebuilt.RepeatableCount)
	}
	if memory.Bytes != rebuilt.Bytes || len(memory.Messages) != len(rebuilt.Messages) {
		t.Fatalf("%d messages of %d bytes in memory, %d of %d from rows", len(memory.Messages), memory.Bytes, len(rebuilt.Messages), rebuilt.Bytes)
	}
	var due time.Time
	for i, m := range memory.Messages {
		if !reflect.DeepEqual(m, rebuilt.Messages[i]) {
			t.Fatalf("message in memory %+v\nfrom rows %+v", *m, *rebuilt.Messages[i])
		}
		if !m.IsWaiting() && (due.IsZero() || m.ExpiresAt.Before(due)) {
			due = m.ExpiresAt
		}
	}
	if memory.Calendar != nil {
		for _, m := range memory.Calendar.Meetings {
			if !m.RemoveAt.IsZero() && (due.IsZero() || m.RemoveAt.Before(due)) {
				due = m.RemoveAt
			}
		}
	}
	compareCalendars(t, memory.Calendar, rebuilt.Calendar)
	compareSealed(t, memory, store)
	if !memory.DueAt.Equal(due) {
		t.Fatalf("due at %v, the earliest expiry is %v", memory.DueAt, due)
	}
	if index, _, err := store.DueInboxes(start.Add(10_000*time.Hour), 10); err != nil || len(index) > 1 || len(index) == 0 != due.IsZero() || len(index) == 1 && !index[0].At.Equal(due) {
		t.Fatalf("due at %v, the index has %v (%v)", due, index, err)
	}
	if n := memory.NewestContent.ID(); n != 0 && (!has(memory, n) || memory.NewestContent.Of(n) == nil) {
		t.Fatalf("newest at hand is %d, which is not there", n)
	}
}

// compareRoom checks that a message was stored within the capacity. Only the oldest received
// messages may be removed for it, and only from an inbox that keeps the newest.
func compareRoom(t *rapid.T, before []*inbox.Message, after *inbox.State, env inbox.Env) {
	n, bytes, oldest := 0, int64(0), int64(0)
	for _, m := range after.Messages {
		if !m.IsExpired(env.Now) {
			n++
			bytes += m.Size
		}
		if m.Direction == inbox.In && oldest == 0 && !m.IsExpired(env.Now) {
			oldest = m.ID
		}
	}
	if n > env.Capacity.MaxMessages || bytes > env.Capacity.MaxBytes {
		t.Fatalf("%d messages of %d bytes are more than %+v", n, bytes, env.Capacity)
	}
	for _, m := range before {
		if has(after, m.ID) {
			continue
		}
		if !after.KeepNewest || m.Direction != inbox.In || oldest != 0 && m.ID > oldest {
			t.Fatalf("message %d (sent: %t) went for another; the inbox keeps the newest: %t, the oldest received left is %d", m.ID, m.Direction == inbox.Out, after.KeepNewest, oldest)
		}
	}
}

func has(s *inbox.State, id int64) bool {
	for _, m := range s.Messages {
		if m.ID == id {
			return true
		}
	}
	return false
}

// TestAnEncryptedAddressStaysEncrypted holds for its account, also after a creation that was given
// up.
func TestAnEncryptedAddressStaysEncrypted(t *testing.T) {
	const month = 30 * 24 * time.Hour // how long other accounts wait
	for _, again := range []struct {
		name      string
		encrypted bool
		account   account.ID
		after     time.Duration
		refused   bool
	}{
		{"plain", false, owner, time.Hour, true},
		{"plain, much later", false, owner, 2 * month, true},
		{"encrypted", true, owner, time.Hour, false},
		{"of another account, later", false, account.ID{9}, 2 * month, false},
	} {
		for _, forgone := range []bool{false, true} {
			s := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
			at := start
			do := func(cmd inbox.Command) error {
				evs, _, err := inbox.Decide(s, cmd, env(at))
				if err == nil {
					rows := new(inbox.Rows)
					rows.Begin(s)
					rows.Apply(s, evs)
				}
				return err
			}
			if err := do(inbox.Create{Address: s.Address, Account: owner, RetentionHours: 24, Encrypted: true, At: at}); err != nil {
				t.Fatal(err)
			}
			if err := do(inbox.Delete{}); err != nil {
				t.Fatal(err)
			}
			at = at.Add(again.after)
			if forgone {
				if err := do(inbox.BarCreation{Address: s.Address, Account: owner, At: at.Add(-time.Minute)}); err != nil {
					t.Fatal(err)
				}
				if again.account != owner {
					at = at.Add(2 * month)
				}
			}
			err := do(inbox.Create{Address: s.Address, Account: again.account, RetentionHours: 24, Encrypted: again.encrypted, At: at})
			if fault.Is(err, fault.Refused) != again.refused || err != nil && !again.refused {
				t.Errorf("%s, forgone %v: %v", again.name, forgone, err)
			}
		}
	}
}
