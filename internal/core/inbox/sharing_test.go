package inbox_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/persist/persisttest"
)

// TestLinkTokens checks that a token names its partition and has exactly one spelling.
func TestLinkTokens(t *testing.T) {
	for _, home := range []partition.ID{0, 1, 255, 256, partition.NumPartitions - 1} {
		token := inbox.LinkToken(home, [32]byte{1, 2, 3, 31: 255})
		got, hash, ok := inbox.ReadLinkToken(token)
		if !ok || got != home || hash != account.HashToken([]byte(token)) || len(token) != 46 {
			t.Errorf("%s of %d reads as %d, %t", token, home, got, ok)
		}
	}
	token := inbox.LinkToken(7, [32]byte{31: 1})
	for _, wrong := range []string{
		"", "x", token[1:], token + "A", token + "=", token + "==", token[:45] + "Z", token[:10] + "/" + token[11:], token[:10] + "\n" + token[10:],
		inbox.LinkToken(partition.NumPartitions, [32]byte{}), inbox.LinkToken(1<<16-1, [32]byte{}),
	} {
		if _, _, ok := inbox.ReadLinkToken(wrong); ok {
			t.Errorf("%q reads as a token", wrong)
		}
	}
}

func minted(n int, rotate bool) inbox.ShareCalendar {
	return inbox.ShareCalendar{TokenHash: account.TokenHash{byte(n), 31: 1}, EncryptedToken: []byte{byte(n)}, Rotate: rotate, By: calendar.LinkReader{CanManage: true}}
}

// TestSharing runs the life of a link: which token opens it after each order, and its recorded use.
func TestSharing(t *testing.T) {
	s := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	opens := map[account.TokenHash]bool{} // the rows
	fetch := func(n, minute int) inbox.NoteFetch {
		return inbox.NoteFetch{TokenHash: account.TokenHash{byte(n), 31: 1}, At: start.Add(time.Duration(minute) * time.Minute), ClientName: fmt.Sprint("c", minute)}
	}
	for _, c := range []struct {
		name string
		cmd  inbox.Command
		want string
	}{
		{"no link", create(), "[]"},
		{"hiding none", inbox.HideCalendar{}, "[]"},
		{"a use of none", fetch(1, 1), "[]"},
		{"the first", minted(1, false), "[1] used 00:00 by "},
		{"the same again", minted(2, false), "[1] used 00:00 by "},
		{"used", fetch(1, 5), "[1] used 08:05 by c5"},
		{"an older use", fetch(1, 4), "[1] used 08:05 by c5"},
		{"the same use", inbox.NoteFetch{TokenHash: account.TokenHash{1, 31: 1}, At: start.Add(5 * time.Minute), ClientName: "other"}, "[1] used 08:05 by c5"},
		{"another", minted(3, true), "[3] used 00:00 by "},
		{"a use of the one before", fetch(1, 9), "[3] used 00:00 by "},
		{"used again", fetch(3, 9), "[3] used 08:09 by c9"},
		{"hidden", inbox.HideCalendar{}, "[]"},
		{"hidden again", inbox.HideCalendar{}, "[]"},
		{"of a reader", inbox.ShareCalendar{TokenHash: account.TokenHash{7, 31: 1}, EncryptedToken: []byte{7}}, "[]"},
		{"made by a key", inbox.ShareCalendar{TokenHash: account.TokenHash{8, 31: 1}, By: calendar.LinkReader{KeyHash: [32]byte{7}, CanManage: true}}, "[8] used 00:00 by  with 7"},
		{"used as such", fetch(8, 7), "[8] used 08:07 by c7 with 7"},
		{"another was read", inbox.KeepLink{TokenHash: account.TokenHash{4, 31: 1}}, "[8] used 08:07 by c7 with 7"},
		{"another ended", inbox.ShareCalendar{TokenHash: account.TokenHash{9, 31: 1}, EndedLink: account.TokenHash{4, 31: 1}}, "[8] used 08:07 by c7 with 7"},
		{"it was read", inbox.KeepLink{TokenHash: account.TokenHash{8, 31: 1}}, "[8] used 08:07 by c7"},
		{"read again", inbox.KeepLink{TokenHash: account.TokenHash{8, 31: 1}}, "[8] used 08:07 by c7"},
		{"it ended", inbox.ShareCalendar{TokenHash: account.TokenHash{9, 31: 1}, EndedLink: account.TokenHash{8, 31: 1}}, "[9] used 00:00 by "},
		{"made by rotating", minted(4, true), "[4] used 00:00 by "},
		{"deleted", inbox.Delete{}, "[]"},
		{"nobody's", minted(5, false), "[]"},
		{"made again", inbox.Create{Address: s.Address, Account: owner, RetentionHours: 24, At: start.Add(time.Hour)}, "[]"},
		{"shared again", minted(6, false), "[6] used 00:00 by "},
		{"erased", inbox.Erase{Account: owner}, "[]"},
	} {
		evs, _, _ := inbox.Decide(s, c.cmd, env(start.Add(2*time.Hour)))
		for _, l := range change(s, evs).LinkRows {
			if delete(opens, l.TokenHash); !l.IsRemoved {
				opens[l.TokenHash] = true
			}
		}
		got := []int{}
		for h := range opens {
			got = append(got, int(h[0]))
		}
		describe := fmt.Sprint(got)
		if link := s.Calendar.CurrentLink(); link != nil {
			describe += fmt.Sprintf(" used %s by %s", link.FetchedAt.Format("15:04"), link.LastClient)
			if link.EndsWithKey() {
				describe += fmt.Sprint(" with ", link.CreatorKey[0])
			}
		}
		if describe != c.want {
			t.Errorf("%s: %s, want %s", c.name, describe, c.want)
		}
	}
}

// TestReplayOfLinksAndCopies checks that a calendar rebuilt from its rows equals the one in memory.
// Only the token of the current link opens it, and the inbox is marked exactly while a copy is due.
// For each meeting, no change is sent twice, at most one copy waits, and copies of answers are at
// least a minute apart.
func TestReplayOfLinksAndCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := persisttest.OpenStore(t)
		now := start
		state := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
		tokens, reported, answered := 0, map[string]bool{}, map[int64]time.Time{}
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			rows := begin(state)
			for range rapid.IntRange(1, 5).Draw(t, "group") {
				now = now.Add(time.Duration(rapid.OneOf(rapid.IntRange(1, 70), rapid.IntRange(0, 3600)).Draw(t, "s")) * time.Second)
				tokens++
				cmd := drawCalendar(t, state, tokens, now)
				evs, outcome, err := inbox.Decide(state, cmd, env(now))
				if err != nil {
					continue
				}
				rows.Apply(state, evs)
				if c, ok := cmd.(inbox.TellOwner); ok && outcome.ID != 0 {
					if m := state.Calendar.Meeting(c.MeetingID); m.OwnerCopy.AnswersAt.Equal(now) {
						if was, ok := answered[c.MeetingID]; ok && now.Sub(was) < time.Minute {
							t.Fatalf("two copies of answers within %v", now.Sub(was))
						}
						answered[c.MeetingID] = now
					}
					change := fmt.Sprint(c.MeetingID, c.Sequence, state.CreatedAt)
					if reported[change] {
						t.Fatalf("%s was told twice", change)
					}
					reported[change] = true
				}
				oneCopyWaits(t, state)
			}
			if rows.Profile == nil && len(rows.PutMessages)+len(rows.DropMessages) == 0 && rows.CopyDue == nil {
				continue
			}
			if err := store.CommitInbox(rows); err != nil {
				t.Fatal(err)
			}
			rebuilt, err := store.LoadInbox(state.Address)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(bare(state.Calendar), bare(rebuilt.Calendar)) {
				t.Fatalf("calendar in memory %+v\nfrom rows %+v", state.Calendar, rebuilt.Calendar)
			}
			if len(state.Messages)+len(rebuilt.Messages) > 0 && !reflect.DeepEqual(state.Messages, rebuilt.Messages) {
				t.Fatalf("messages in memory %+v\nfrom rows %+v", state.Messages, rebuilt.Messages)
			}
			compareQueue(t, state, store)
			compareMarks(t, state, store, tokens)
		}
	})
}

// bare is a calendar in which empty lists are nil.
func bare(b *calendar.Book) (p calendar.Book) {
	if b != nil {
		p = *b
	}
	if len(p.Meetings) == 0 {
		p.Meetings = nil
	}
	return p
}

func drawCalendar(t *rapid.T, s *inbox.State, token int, now time.Time) inbox.Command {
	id := rapid.Int64Range(1, s.LastID+1).Draw(t, "id")
	again := create()
	again.At = now
	cmds := []inbox.Command{
		again, minted(token, false), minted(token, true), inbox.HideCalendar{},
		inbox.SetOwnerCopies{Enabled: true}, inbox.SetOwnerCopies{Enabled: true}, inbox.SetOwnerCopies{}, inbox.BlockOwnerCopies{}, inbox.TellOwner{},
		inbox.BeginAttempt{ID: id, SigningResult: inbox.MessageUnsigned}, inbox.GiveUp{ID: id, FailureReason: "dropped"}, inbox.Burn{}, inbox.Delete{}, inbox.Erase{Account: owner},
		inbox.ReportAttempt{ID: id, AttemptNumber: 1, IsDone: true, Reports: []inbox.AttemptReport{{Email: "owner@home.test", Outcome: delivery.OutcomePermanent, Error: "550 no"}}},
		inbox.ReportAttempt{ID: id, AttemptNumber: 1, IsDone: true, NextAttempt: now.Add(time.Hour), Reports: []inbox.AttemptReport{{Email: "owner@home.test", Outcome: delivery.OutcomeTemporary, Error: "450"}}},
	}
	if link := s.Calendar.CurrentLink(); link != nil {
		cmds = append(cmds, inbox.NoteFetch{TokenHash: link.TokenHash, At: now, ClientName: "c", LastChangeFetched: now})
	}
	if s.IsLive() {
		order := calendar.MeetingOrder(scheduled("First"))
		if s.Calendar != nil && len(s.Calendar.Meetings) > 2 {
			order = renamed(s.Calendar.Meetings[0].ID, now.String())
		}
		cmds = append(cmds, ordered(t, s, order, now), ordered(t, s, order, now))
	}
	if s.Calendar != nil && len(s.Calendar.Meetings) > 0 {
		m := rapid.SampledFrom(s.Calendar.Meetings).Draw(t, "answered")
		status := rapid.SampledFrom([]string{icalendar.StatusAccepted, icalendar.StatusDeclined}).Draw(t, "answer")
		answer := inviting(reply(m, "guest@far.test", status, now))
		cmds = append(cmds, answer, answer, answer)
	}
	if m, _ := s.Calendar.DueCopy(now, time.Time{}); m != nil {
		cmds = append(cmds, telling(m), telling(m), telling(m), inbox.TellOwner{MeetingID: m.ID, Sequence: m.OwnerCopy.ChangeCount})
	}
	return rapid.SampledFrom(cmds).Draw(t, "command")
}

func oneCopyWaits(t *rapid.T, s *inbox.State) {
	waiting := map[int64]int{}
	for _, m := range s.Messages {
		if m.IsWaiting() && m.OutgoingDelivery.CopyOfMeeting != 0 && m.OutgoingDelivery.AttemptCount == 0 {
			waiting[m.OutgoingDelivery.CopyOfMeeting]++
		}
		if !m.IsHidden && m.OutgoingDelivery != nil && m.OutgoingDelivery.CopyOfMeeting != 0 {
			t.Fatalf("copy %d can be seen", m.ID)
		}
	}
	for meeting, n := range waiting {
		if n > 1 && s.IsLive() && s.Calendar.Meeting(meeting) != nil {
			t.Fatalf("%d copies of meeting %d wait", n, meeting)
		}
	}
}

func compareMarks(t *rapid.T, s *inbox.State, store *persisttest.TestStore, tokens int) {
	home := partition.Of(s.Address)
	for n := range tokens + 1 {
		hash := minted(n, false).TokenHash
		address, err := store.FindLinked(home, hash)
		link := s.Calendar.CurrentLink()
		if err != nil || (address == s.Address) != (link != nil && link.TokenHash == hash) {
			t.Fatalf("token %d opens %q (%v), the link is %+v", n, address, err, link)
		}
	}
	var due []string
	if err := store.CopiesDue(home.Group(), func(address string) { due = append(due, address) }); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(due, s.Address) != (s.Calendar.HasDue()) || len(due) > 1 {
		t.Fatalf("marked are %v, due is %t", due, s.Calendar.HasDue())
	}
}
