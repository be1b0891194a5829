package actors

import (
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"inboxd/internal/account"
	"inboxd/internal/partition"
)

// principals maps the hash of a credential to who it speaks for. Account owners write it;
// every request reads it, without a lock.
type principals struct {
	byHash *xsync.Map[account.Hash, *account.Principal]
}

// principalIdle is how long an unused principal stays in memory.
const principalIdle = 15 * time.Minute

func newPrincipals() *principals {
	return &principals{byHash: xsync.NewMap[account.Hash, *account.Principal]()}
}

func (ps *principals) get(h account.Hash) *account.Principal {
	p, _ := ps.byHash.Load(h)
	return p
}

func (ps *principals) put(p *account.Principal) { ps.byHash.Store(p.Hash, p) }

// revoke ends a principal for everybody who holds it.
func (ps *principals) revoke(h account.Hash) {
	if p, ok := ps.byHash.LoadAndDelete(h); ok {
		p.Revoke()
	}
}

// revokeAll ends every credential of an account.
func (ps *principals) revokeAll(id account.ID) {
	ps.byHash.DeleteMatching(func(_ account.Hash, p *account.Principal) (bool, bool) {
		if p.Account == id {
			p.Revoke()
		}
		return p.Account == id, false
	})
}

// Lose takes out those of a group's accounts, whose owners have left: none is put in any more.
func (ps *principals) Lose(g partition.Group) error {
	ps.byHash.DeleteMatching(func(_ account.Hash, p *account.Principal) (bool, bool) {
		of := p.Account.Partition().Group() == g
		if of {
			p.Move()
		}
		return of, false
	})
	return nil
}

// sweep drops principals that were not used since idle before now or are over, and calls used
// for each of the others.
func (ps *principals) sweep(env account.Env, used func(*account.Principal)) {
	edge := env.Now.Add(-principalIdle).Unix()
	ps.byHash.DeleteMatching(func(_ account.Hash, p *account.Principal) (bool, bool) {
		if p.Used.Load() < edge || p.Over(env) {
			p.Drop()
			return true, false
		}
		used(p)
		return false, false
	})
}
