package persist

import (
	"fmt"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// nameTable stores the names that belong to exactly one account: the e-mail addresses that sign in
// and the subdomains of the service. The claim of an account on a subdomain is a separate row.
type nameTable struct{ *engine }

// accountValue is the value of a row that leads to an account.
func accountValue(id account.ID) []byte { return append([]byte{recordVersion}, id[:]...) }

func readAccount(value []byte) (account.ID, error) {
	if err := checkVersion(value); err != nil || len(value) != 1+idLen {
		return account.ID{}, fmt.Errorf("persist: damaged account id %x: %v", value, err)
	}
	return account.ID(value[1:]), nil
}

// holdingValue is the value of a row that names the holder of a name.
func holdingValue(h account.Holding) []byte {
	value := accountValue(h.Account)
	if h.Claim != 0 {
		value = appendNumber(value, h.Claim)
	}
	return value
}

// readHolding reads what holdingValue wrote. A subdomain without a claim number was stored before
// claims existed.
func readHolding(value []byte) (h account.Holding, err error) {
	if len(value) == 1+idLen+8 {
		h.Claim, value = readNumber(value), value[:1+idLen]
	}
	h.Account, err = readAccount(value)
	return h, err
}

// AccountByEmail finds the account of a canonical e-mail address.
func (t *nameTable) AccountByEmail(email string) (account.Holding, error) {
	return t.find(kindEmail, email)
}

// SetEmail assigns an e-mail address to an account and returns once that is durable. The zero
// holding removes the assignment.
func (t *nameTable) SetEmail(email string, holder account.Holding) error {
	return t.give(kindEmail, email, holder)
}

// SubdomainHolder returns the account that holds a subdomain of the service.
func (t *nameTable) SubdomainHolder(label string) (account.Holding, error) {
	return t.find(kindSubdomain, label)
}

// SetSubdomain is SetEmail for a subdomain of the service.
func (t *nameTable) SetSubdomain(label string, holder account.Holding) error {
	return t.give(kindSubdomain, label, holder)
}

func (t *nameTable) find(k kind, name string) (h account.Holding, err error) {
	_, err = t.read(appendText(nil, k, name), func(value []byte) (err error) {
		h, err = readHolding(value)
		return err
	})
	return h, err
}

func (t *nameTable) give(k kind, name string, holder account.Holding) error {
	key, p := appendText(nil, k, name), partition.Of(name)
	if holder == (account.Holding{}) {
		return t.update(p, 0, func(w *writer) { w.delete(key) })
	}
	return t.update(p, 512, func(w *writer) { w.set(key, holdingValue(holder)) })
}

// The integer keys of this record are on disk: append only; never reorder or reuse.

type claimRecord struct {
	Number  int64 `cbor:"1,keyasint"`
	Inboxes int64 `cbor:"2,keyasint,omitempty"`
	EndedAt stamp `cbor:"3,keyasint,omitempty"`
}

// claimKey names an account's claim of a subdomain: [kind][partition][id][random][label]. Chosen
// subdomains sort before random ones.
func claimKey(id account.ID, c account.Claim) []byte {
	random := byte(0)
	if c.Random {
		random = 1
	}
	return append(append(appendOwner(nil, kindClaim, id), random), c.Label...)
}

// readClaim reads the row of a claim; suffix is the part of its key after the account id.
func readClaim(suffix, value []byte) (account.Claim, error) {
	var r claimRecord
	if err := decode(value, &r); err != nil || len(suffix) == 0 {
		return account.Claim{}, fmt.Errorf("persist: damaged claim %x: %v", suffix, err)
	}
	return account.Claim{Label: string(suffix[1:]), Random: suffix[0] == 1, Number: r.Number, Inboxes: r.Inboxes, EndedAt: r.EndedAt.time()}, nil
}

// claims writes the changes of the account's claims.
func (w *writer) claims(r *account.Rows) {
	for _, c := range r.Claims {
		if c.Number == 0 {
			w.delete(claimKey(r.ID, c))
		} else {
			w.put(claimKey(r.ID, c), &claimRecord{c.Number, c.Inboxes, stampOf(c.EndedAt)})
		}
	}
}

// Claim returns the claim of an account on a subdomain. Its number is 0 if the account has none.
func (t *accountTable) Claim(id account.ID, label string) (c account.Claim, err error) {
	for _, random := range []bool{false, true} {
		key := claimKey(id, account.Claim{Label: label, Random: random})
		found, err := t.read(key, func(value []byte) (err error) {
			c, err = readClaim(key[prefixLen+idLen:], value)
			return err
		})
		if found || err != nil {
			return c, err
		}
	}
	return account.Claim{Label: label}, nil
}

// Claims returns up to limit claims of an account after the claim after, chosen ones first. The zero
// claim starts at the beginning.
func (t *accountTable) Claims(id account.ID, after account.Claim, limit int) ([]account.Claim, error) {
	all := under(appendOwner(nil, kindClaim, id))
	return list(t.engine, all.behind(claimKey(id, after)), limit, func(key, value []byte) (account.Claim, error) {
		return readClaim(key[prefixLen+idLen:], value)
	})
}
