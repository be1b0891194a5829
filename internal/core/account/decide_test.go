package account_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"inboxd/internal/core/account"
)

var (
	start = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	me    = account.NewID(start, [10]byte{1})
)

func hash(name string) account.TokenHash { return account.HashToken([]byte(name)) }

// story is one account that the commands of a test file change.
type story struct {
	state *account.State
	now   time.Time
	names map[account.TokenHash]string // of the tokens in the file
	keys  map[int64]*account.APIKey    // as the store would return them
}

// TestDecide runs testdata/decide: a command, then the rows that it writes, "nothing", or the
// fault. It also checks that no command changes the state before Apply.
func TestDecide(t *testing.T) {
	datadriven.Walk(t, "testdata/decide", func(t *testing.T, path string) {
		s := &story{state: account.NewState(), now: start, names: map[account.TokenHash]string{}, keys: map[int64]*account.APIKey{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "advance":
				s.now = s.now.Add(duration(t, d, 0))
				return stamp(s.now) + "\n"
			case "start-sessions":
				return s.startSessions(t, number(t, d, 0))
			case "issue-keys":
				for range number(t, d, 0) {
					s.run(t, account.IssueKey{Key: account.APIKey{Kind: account.KindAccountKey}})
				}
				return fmt.Sprintf("%d keys\n", s.state.AccountKeys)
			case "keys":
				return s.inventory()
			}
			return s.run(t, s.command(t, d))
		})
	})
}

func (s *story) command(t *testing.T, d *datadriven.TestData) account.Command {
	switch d.Cmd {
	case "open":
		return account.Open{ID: me, Email: "me@example.test", PasswordHash: "phc", Plan: account.PlanName(word(t, d, 0))}
	case "set-plan":
		return account.SetPlan{Plan: account.PlanName(word(t, d, 0))}
	case "start-session":
		return account.StartSession{Hash: s.token(word(t, d, 0)), PasswordHash: s.state.PasswordHash}
	case "touch-session":
		return account.TouchSession{Hash: s.token(word(t, d, 0))}
	case "end-session":
		return account.EndSession{Hash: s.token(word(t, d, 0))}
	case "end-expired": // token
		c := account.EndExpired{Hash: hash(word(t, d, 0))}
		for _, k := range s.keys {
			if k.Hash == c.Hash {
				c.FoundKey = k
			}
		}
		return c
	case "issue-key": // token [days]
		var expires time.Time
		if len(d.CmdArgs) > 1 {
			expires = s.now.AddDate(0, 0, number(t, d, 1))
		}
		return account.IssueKey{Key: account.APIKey{
			ExpiresAt: expires,
			ID:        77, CreatedAt: start.AddDate(-1, 0, 0), // Decide assigns its own
			Hash: s.token(word(t, d, 0)), Kind: account.KindAccountKey, Scopes: account.ScopeRead, Prefix: "svc_live_head",
		}}
	case "issue-inbox-key": // token inbox
		return account.IssueKey{InboxHasKey: s.keyOf(word(t, d, 1)) != nil, Key: account.APIKey{Hash: s.token(word(t, d, 0)), Kind: account.KindInboxKey, Inbox: word(t, d, 1), Scopes: account.ScopeRead, Prefix: "svc_sk_head"}}
	case "revoke-inbox-key":
		return account.RevokeInboxKey{Inbox: word(t, d, 0), FoundKey: s.keyOf(word(t, d, 0))}
	case "touch-key":
		return account.TouchKey{ID: int64(number(t, d, 0)), At: s.now, FoundKey: s.keys[int64(number(t, d, 0))]}
	case "revoke-key":
		return account.RevokeKey{ID: int64(number(t, d, 0)), FoundKey: s.keys[int64(number(t, d, 0))]}
	case "reserve":
		return account.ReserveInbox{Address: word(t, d, 0), At: s.now}
	case "confirm": // address [age of the reservation]
		c := account.ConfirmInbox{Address: word(t, d, 0), At: s.state.ReservedInboxes[word(t, d, 0)].At}
		if len(d.CmdArgs) > 1 {
			c.At = s.now.Add(-duration(t, d, 1))
		}
		return c
	case "release": // address [age of the inbox] [listed]
		c := account.ReleaseInbox{Address: word(t, d, 0), WasListed: d.HasArg("listed")}
		if len(d.CmdArgs) > 1 {
			c.CreatedAt = s.now.Add(-duration(t, d, 1))
		}
		return c
	case "start-reset":
		return account.StartReset{Hash: s.token(word(t, d, 0)), ByOperator: d.HasArg("operator")}
	case "reset-password": // token, new hash
		return account.ResetPassword{Hash: hash(word(t, d, 0)), PasswordHash: word(t, d, 1)}
	case "close":
		return account.Close{}
	case "revoke-all":
		c := account.RevokeKeys{}
		for _, id := range slices.Sorted(maps.Keys(s.keys)) {
			c.Keys = append(c.Keys, *s.keys[id])
		}
		return c
	case "erase":
		return account.Erase{}
	}
	t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	return nil
}

// run decides cmd and applies it.
func (s *story) run(t *testing.T, cmd account.Command) string {
	before := fmt.Sprintf("%+v", *s.state)
	evs, err := account.Decide(s.state, cmd, account.Env{Now: s.now, Plans: account.DefaultPlans()})
	if after := fmt.Sprintf("%+v", *s.state); after != before {
		t.Fatalf("Decide touched the state:\n%s\n%s", before, after)
	}
	switch {
	case err != nil && evs != nil:
		t.Fatalf("%T: both events and %v", cmd, err)
	case err != nil:
		return err.Error() + "\n"
	case len(evs) == 0:
		return "nothing\n"
	}
	r := new(account.Rows)
	r.Apply(s.state, evs)
	for _, k := range r.DropKeys {
		delete(s.keys, k.ID)
	}
	for _, k := range r.PutKeys {
		s.keys[k.ID] = k
	}
	return s.describe(r)
}

func (s *story) startSessions(t *testing.T, n int) string {
	for i := range n {
		s.run(t, account.StartSession{Hash: s.token(fmt.Sprintf("s%d", i+1)), PasswordHash: s.state.PasswordHash})
		s.now = s.now.Add(time.Minute)
	}
	return fmt.Sprintf("%d sessions at %s\n", len(s.state.Sessions), stamp(s.now))
}

func (s *story) inventory() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.keys)) {
		fmt.Fprintf(&b, "%d %s\n", id, s.names[s.keys[id].Hash])
	}
	return b.String()
}

func (s *story) keyOf(address string) *account.APIKey {
	for _, k := range s.keys {
		if k.Kind == account.KindInboxKey && k.Inbox == address {
			return k
		}
	}
	return nil
}

func (s *story) token(name string) account.TokenHash {
	s.names[hash(name)] = name
	return hash(name)
}

func (s *story) describe(r *account.Rows) string {
	var b strings.Builder
	if p := r.Profile; p != nil {
		fmt.Fprintf(&b, "profile %s, created %s, %d inboxes, last key %d\n", p.Plan, stamp(p.CreatedAt), p.LiveInboxes, p.LastKey)
		if p.LastKey > 0 {
			fmt.Fprintf(&b, "%d account keys, %d inbox keys\n", p.AccountKeys, p.InboxKeys)
		}
		if p.PasswordHash != "phc" {
			fmt.Fprintf(&b, "password %s\n", p.PasswordHash)
		}
		if !p.ClosingAt.IsZero() {
			fmt.Fprintf(&b, "closing since %s\n", stamp(p.ClosingAt))
		}
	}
	for _, k := range r.PutKeys {
		fmt.Fprintf(&b, "put key %d %s %s, created %s, used %s", k.ID, s.names[k.Hash], k.Scopes, stamp(k.CreatedAt), stamp(k.LastUsedAt))
		if k.SeenExpired {
			b.WriteString(", ended")
		}
		b.WriteString("\n")
	}
	for _, k := range r.DropKeys {
		fmt.Fprintf(&b, "drop key %d %s\n", k.ID, s.names[k.Hash])
	}
	for _, ses := range r.PutSessions {
		fmt.Fprintf(&b, "put session %s, created %s, until %s\n", s.names[ses.Hash], stamp(ses.CreatedAt), stamp(ses.ExpiresAt))
	}
	var over []string
	for _, ses := range r.DropSessions {
		over = append(over, "drop session "+s.names[ses.Hash]+"\n")
	}
	for _, reset := range r.PutResets {
		fmt.Fprintf(&b, "put reset %s, until %s\n", s.names[reset.Hash], stamp(reset.ExpiresAt))
	}
	for _, reset := range r.DropResets {
		over = append(over, "drop reset "+s.names[reset.Hash]+"\n")
	}
	slices.Sort(over) // they come from a map
	b.WriteString(strings.Join(over, ""))
	for _, e := range r.PutInboxes {
		fmt.Fprintf(&b, "put %s\n", entry(e))
	}
	for _, e := range r.DropInboxes {
		fmt.Fprintf(&b, "drop %s\n", entry(e))
	}
	if r.EraseAll {
		b.WriteString("erase\n")
	}
	return b.String()
}

func entry(e account.InboxEntry) string {
	kind := "reservation"
	if e.IsLive {
		kind = "inbox"
	}
	return fmt.Sprintf("%s %s of %s", kind, e.Address, stamp(e.CreatedAt))
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Format("2006-01-02 15:04")
}

func word(t *testing.T, d *datadriven.TestData, i int) string {
	t.Helper()
	if i >= len(d.CmdArgs) {
		t.Fatalf("%s: %s needs argument %d", d.Pos, d.Cmd, i+1)
	}
	return d.CmdArgs[i].Key
}

func number(t *testing.T, d *datadriven.TestData, i int) int {
	t.Helper()
	n, err := strconv.Atoi(word(t, d, i))
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return n
}

func duration(t *testing.T, d *datadriven.TestData, i int) time.Duration {
	t.Helper()
	span, err := time.ParseDuration(word(t, d, i))
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return span
}
