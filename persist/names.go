package persist

import (
	"fmt"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// nameTable stores the names that belong to exactly one account: the e-mail addresses that sign in
// and the subdomains of the service. The claim of an account on a subdomain is a separate row.
type nameTable struct{ *storageEngine }

// accountValue is the value of a row that leads to an account.
func accountValue(id account.ID) []byte { return append([]byte{recordVersion}, id[:]...) }

func readAccount(value []byte) (account.ID, error) {
	if err := checkVersion(value); err != nil || len(value) != 1+idLen {
		return account.ID{}, fmt.Errorf("persist: damaged account id %x: %v", value, err)
	}
	return account.ID(value[1:]), nil
}

// holdingValue is the value of a row that names the holder of a name.
func holdingValue(h account.NameHolder) []byte {
	value := accountValue(h.Account)
	if h.ClaimNumber != 0 {
		value = appendNumber(value, h.ClaimNumber)
	}
	return value
}

// readHolding reads what holdingValue wrote. A subdomain without a claim number was stored before
// claims existed.
func readHolding(value []byte) (h account.NameHolder, err error) {
	if len(value) == 1+idLen+8 {
		h.ClaimNumber, value = readNumber(value), value[:1+idLen]
	}
	h.Account, err = readAccount(value)
	return h, err
}

// AccountByEmail finds the account of a canonical e-mail address.
func (t *nameTable) AccountByEmail(email string) (account.NameHolder, error) {
	return t.findHolder(kindEmail, email)
}

// SetEmail assigns an e-mail address to an account and returns once that is durable. The zero
// holding removes the assignment.
func (t *nameTable) SetEmail(email string, holder account.NameHolder) error {
	return t.setHolder(kindEmail, email, holder)
}

// SubdomainHolder returns the account that holds a subdomain of the service.
func (t *nameTable) SubdomainHolder(label string) (account.NameHolder, error) {
	return t.findHolder(kindSubdomain, label)
}

// SetSubdomain is SetEmail for a subdomain of the service.
func (t *nameTable) SetSubdomain(label string, holder account.NameHolder) error {
	return t.setHolder(kindSubdomain, label, holder)
}

func (t *nameTable) findHolder(k rowKind, name string) (h account.NameHolder, err error) {
	_, err = t.readRow(appendText(nil, k, name), func(value []byte) (err error) {
		h, err = readHolding(value)
		return err
	})
	return h, err
}

func (t *nameTable) setHolder(k rowKind, name string, holder account.NameHolder) error {
	key, p := appendText(nil, k, name), partition.Of(name)
	if holder == (account.NameHolder{}) {
		return t.commitUpdate(p, 0, func(w *batchWriter) { w.deleteKey(key) })
	}
	return t.commitUpdate(p, 512, func(w *batchWriter) { w.setKey(key, holdingValue(holder)) })
}

// The integer keys of this record are on disk: append only; never reorder or reuse.

type claimRecord struct {
	ClaimNumber int64      `cbor:"1,keyasint"`
	InboxCount  int64      `cbor:"2,keyasint,omitempty"`
	EndedAt     unixMillis `cbor:"3,keyasint,omitempty"`
}

// claimKey names an account's claim of a subdomain: [kind][partition][id][random][label]. Chosen
// subdomains sort before random ones.
func claimKey(id account.ID, c account.SubdomainClaim) []byte {
	random := byte(0)
	if c.IsRandom {
		random = 1
	}
	return append(append(appendOwner(nil, kindClaim, id), random), c.Label...)
}

// readClaim reads the row of a claim; suffix is the part of its key after the account id.
func readClaim(suffix, value []byte) (account.SubdomainClaim, error) {
	var r claimRecord
	if err := decodeRecord(value, &r); err != nil || len(suffix) == 0 {
		return account.SubdomainClaim{}, fmt.Errorf("persist: damaged claim %x: %v", suffix, err)
	}
	return account.SubdomainClaim{Label: string(suffix[1:]), IsRandom: suffix[0] == 1, SerialNumber: r.ClaimNumber, InboxCount: r.InboxCount, EndedAt: r.EndedAt.toTime()}, nil
}

// writeClaims writes the changes of the account's claims.
func (w *batchWriter) writeClaims(r *account.Rows) {
	for _, c := range r.Claims {
		if c.SerialNumber == 0 {
			w.deleteKey(claimKey(r.ID, c))
		} else {
			w.putRecord(claimKey(r.ID, c), &claimRecord{c.SerialNumber, c.InboxCount, stampOf(c.EndedAt)})
		}
	}
}

// FindClaim returns the claim of an account on a subdomain. Its number is 0 if the account has none.
func (t *accountTable) FindClaim(id account.ID, label string) (c account.SubdomainClaim, err error) {
	for _, random := range []bool{false, true} {
		key := claimKey(id, account.SubdomainClaim{Label: label, IsRandom: random})
		found, err := t.readRow(key, func(value []byte) (err error) {
			c, err = readClaim(key[prefixLen+idLen:], value)
			return err
		})
		if found || err != nil {
			return c, err
		}
	}
	return account.SubdomainClaim{Label: label}, nil
}

// ListClaims returns up to limit claims of an account after the claim after, chosen ones first. The
// zero claim starts at the beginning.
func (t *accountTable) ListClaims(id account.ID, after account.SubdomainClaim, limit int) ([]account.SubdomainClaim, error) {
	all := prefixRange(appendOwner(nil, kindClaim, id))
	return listRows(t.storageEngine, all.afterKey(claimKey(id, after)), limit, func(key, value []byte) (account.SubdomainClaim, error) {
		return readClaim(key[prefixLen+idLen:], value)
	})
}
