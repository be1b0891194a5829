package account_test

import (
	"reflect"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// uses is an account with its claims by label in place of the store.
type uses struct {
	state  *account.State
	claims map[string]account.SubdomainClaim
	now    time.Time
	plans  account.Plans
}

func newUses(t *testing.T) *uses {
	plans := account.DefaultPlans()
	paid := plans[account.PlanPaid]
	paid.MaxSubdomains = 2
	plans[account.PlanPaid] = paid
	u := &uses{state: account.NewState(), claims: map[string]account.SubdomainClaim{}, now: start, plans: plans}
	if err := u.do(account.Open{ID: me, Plan: account.PlanPaid}); err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *uses) do(cmd account.Command) error {
	evs, err := account.Decide(u.state, cmd, account.Env{Now: u.now, Plans: u.plans})
	var rows account.Rows
	rows.Apply(u.state, evs)
	for _, c := range rows.Claims {
		if c.SerialNumber == 0 {
			delete(u.claims, c.Label)
		} else {
			u.claims[c.Label] = c
		}
	}
	return err
}

// command returns a command of the test cases, with the known claim.
func (u *uses) command(what, address, label string) account.Command {
	claim, known := u.claims[label]
	if !known {
		claim = account.SubdomainClaim{Label: label, IsRandom: label[0] == '~'}
	}
	switch what {
	case "reserve":
		cmd := account.ReserveInbox{Address: address, At: start, Claim: &claim}
		for _, c := range u.claims {
			if !c.IsRandom && c.HasLapsed(u.now) && c.Label != label {
				cmd.LapsedClaims = append(cmd.LapsedClaims, c)
			}
		}
		return cmd
	case "confirm":
		return account.ConfirmInbox{Address: address, At: start}
	case "release":
		return account.ReleaseInbox{Address: address, CreatedAt: start, Claim: claim}
	case "delete":
		return account.ReleaseInbox{Address: address, CreatedAt: start, Claim: claim, WasListed: true}
	}
	return account.YieldClaim{Claim: claim}
}

// TestTheLifeOfAClaim runs commands on one account's claims. After each it checks the claim's
// number and inboxes, and how many chosen subdomains count against the plan, which allows two.
func TestTheLifeOfAClaim(t *testing.T) {
	type step struct {
		after                time.Duration
		what, address, label string
		refused              bool
		number, inboxes      int64
		chosen               int64
	}
	month := account.ClaimKept
	for name, story := range map[string][]step{
		"a creation that is refused takes nothing": {
			{0, "reserve", "a", "fleet", false, 1, 1, 1},
			{0, "release", "a", "fleet", false, 0, 0, 0},
			{0, "yield", "", "fleet", false, 0, 0, 0},
			{0, "reserve", "a", "fleet", false, 2, 1, 1}, // another number
		},
		"one that is refused in a subdomain in use leaves it": {
			{0, "reserve", "a", "fleet", false, 1, 1, 1},
			{0, "confirm", "a", "fleet", false, 1, 1, 1},
			{0, "reserve", "b", "fleet", false, 1, 2, 1},
			{0, "release", "b", "fleet", false, 1, 1, 1},
			{0, "yield", "", "fleet", true, 1, 1, 1},
		},
		"it ends thirty days after the last inbox": {
			{0, "reserve", "a", "fleet", false, 1, 1, 1},
			{0, "yield", "", "fleet", true, 1, 1, 1},
			{0, "confirm", "a", "fleet", false, 1, 1, 1},
			{3 * month, "yield", "", "fleet", true, 1, 1, 1},
			{0, "delete", "a", "fleet", false, 1, 0, 1},
			{month - 1, "yield", "", "fleet", true, 1, 0, 1},
			{1, "yield", "", "fleet", false, 0, 0, 0},
			{0, "yield", "", "fleet", false, 0, 0, 0},
		},
		"a creation that is refused later does not put the end off": {
			{0, "reserve", "a", "fleet", false, 1, 1, 1},
			{0, "confirm", "a", "fleet", false, 1, 1, 1},
			{0, "delete", "a", "fleet", false, 1, 0, 1},
			{month - 1, "reserve", "b", "fleet", false, 1, 1, 1},
			{1, "yield", "", "fleet", true, 1, 1, 1},
			{0, "release", "b", "fleet", false, 1, 0, 1},
			{0, "yield", "", "fleet", false, 0, 0, 0},
		},
		"one that is over serves its account until it is yielded": {
			{0, "reserve", "a", "fleet", false, 1, 1, 1},
			{0, "confirm", "a", "fleet", false, 1, 1, 1},
			{0, "delete", "a", "fleet", false, 1, 0, 1},
			{2 * month, "reserve", "b", "fleet", false, 1, 1, 1},
			{0, "yield", "", "fleet", true, 1, 1, 1},
		},
		"the plan bounds what is chosen, and what is over makes room": {
			{0, "reserve", "a", "one", false, 1, 1, 1},
			{0, "confirm", "a", "one", false, 1, 1, 1},
			{0, "reserve", "b", "two", false, 2, 1, 2},
			{0, "reserve", "c", "three", true, 0, 0, 2},
			{0, "reserve", "c", "two", false, 2, 2, 2},
			{0, "reserve", "d", "~drawn", false, 3, 1, 2}, // random ones don't count
			{0, "delete", "a", "one", false, 1, 0, 2},
			{month - 1, "reserve", "e", "three", true, 0, 0, 2},
			{1, "reserve", "e", "three", false, 4, 1, 2},
			{0, "yield", "", "one", false, 0, 0, 2},
		},
		"a random one is chosen later": {
			{0, "reserve", "a", "~drawn", false, 1, 1, 0},
			{0, "confirm", "a", "~drawn", false, 1, 1, 0},
			{0, "reserve", "b", "~drawn", false, 1, 2, 0},
			{0, "yield", "", "~drawn", true, 1, 2, 0},
			{0, "delete", "a", "~drawn", false, 1, 1, 0},
			{month, "yield", "", "~drawn", true, 1, 1, 0},
			{0, "release", "b", "~drawn", false, 1, 0, 0},
			{0, "yield", "", "~drawn", false, 0, 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUses(t)
			for i, s := range story {
				u.now = u.now.Add(s.after)
				err := u.do(u.command(s.what, s.address, s.label))
				if s.refused != fault.Is(err, fault.Refused) || err != nil && !s.refused {
					t.Fatalf("step %d, %s: %v", i, s.what, err)
				}
				if c := u.claims[s.label]; c.SerialNumber != s.number || c.InboxCount != s.inboxes || u.state.Subdomains != s.chosen {
					t.Fatalf("step %d, %s: %+v, %d chosen", i, s.what, c, u.state.Subdomains)
				}
			}
		})
	}
}

// TestARefusedReservationChangesNothing includes the claims that it would have replaced.
func TestARefusedReservationChangesNothing(t *testing.T) {
	u := newUses(t)
	for _, cmd := range []account.Command{u.command("reserve", "a", "one"), u.command("reserve", "b", "two")} {
		if err := u.do(cmd); err != nil {
			t.Fatal(err)
		}
	}
	before, claims := *u.state, len(u.claims)
	for sentence, cmd := range map[string]account.Command{
		"refused: Paid plan allows at most 2 subdomains. A subdomain is released 30 days after its last inbox is deleted": u.command("reserve", "c", "three"),
		"refused: The address a is already being created":                                                                 u.command("reserve", "a", "one"),
		"refused: The subdomain two is taken":                                                                             u.command("yield", "", "two"),
	} {
		if err := u.do(cmd); err == nil || err.Error() != sentence {
			t.Errorf("%v", err)
		}
	}
	if !reflect.DeepEqual(before, *u.state) || len(u.claims) != claims {
		t.Errorf("was %+v, is %+v with %v", before, *u.state, u.claims)
	}
}

// TestAnInboxThatWasNeverCounted uses an inbox from an older folder.
func TestAnInboxThatWasNeverCounted(t *testing.T) {
	u := newUses(t)
	u.state.LiveInboxes = 1
	if err := u.do(account.ReleaseInbox{Address: "a", CreatedAt: start, WasListed: true}); err != nil || u.state.LiveInboxes != 0 || len(u.claims) != 0 {
		t.Errorf("%v, %+v, %v", err, u.state, u.claims)
	}
}
