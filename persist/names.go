package persist

import (
	"fmt"

	"inboxd/internal/account"
	"inboxd/internal/partition"
)

// nameTable keeps what belongs to one account alone: the e-mail addresses that sign in, and
// subdomains of the service.
type nameTable struct{ *engine }

// accountValue is the value of a row that leads to an account.
func accountValue(id account.ID) []byte { return append([]byte{recordVersion}, id[:]...) }

func readAccount(value []byte) (account.ID, error) {
	if err := checkVersion(value); err != nil || len(value) != 1+idLen {
		return account.ID{}, fmt.Errorf("persist: damaged account id %x: %v", value, err)
	}
	return account.ID(value[1:]), nil
}

// AccountByEmail finds the account of a canonical e-mail address.
func (t *nameTable) AccountByEmail(email string) (account.ID, bool, error) {
	return t.find(kindEmail, email)
}

// SetEmail gives an e-mail address to an account, to nobody with the zero ID, and returns once
// that is on disk.
func (t *nameTable) SetEmail(email string, id account.ID) error { return t.give(kindEmail, email, id) }

// SubdomainOwner finds the account that a subdomain of the service belongs to.
func (t *nameTable) SubdomainOwner(label string) (account.ID, bool, error) {
	return t.find(kindSubdomain, label)
}

// SetSubdomain is SetEmail for a subdomain of the service.
func (t *nameTable) SetSubdomain(label string, id account.ID) error {
	return t.give(kindSubdomain, label, id)
}

func (t *nameTable) find(k kind, name string) (id account.ID, found bool, err error) {
	found, err = t.read(appendText(nil, k, name), func(value []byte) error {
		id, err = readAccount(value)
		return err
	})
	return id, found && err == nil, err
}

func (t *nameTable) give(k kind, name string, id account.ID) error {
	key, p := appendText(nil, k, name), partition.Of(name)
	if id == (account.ID{}) {
		return t.update(p, 0, func(w *writer) { w.delete(key) })
	}
	return t.update(p, 512, func(w *writer) { w.set(key, accountValue(id)) })
}
