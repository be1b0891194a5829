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

// PutEmail gives an e-mail address to an account and returns once that is on disk.
func (t *nameTable) PutEmail(email string, id account.ID) error { return t.put(kindEmail, email, id) }

// DropEmail frees an e-mail address and returns once that is on disk.
func (t *nameTable) DropEmail(email string) error {
	return t.update(partition.Of(email), 0, func(w *writer) { w.delete(appendText(nil, kindEmail, email)) })
}

// SubdomainOwner finds the account that a subdomain of the service belongs to.
func (t *nameTable) SubdomainOwner(label string) (account.ID, bool, error) {
	return t.find(kindSubdomain, label)
}

// PutSubdomain gives a subdomain to an account and returns once that is on disk.
func (t *nameTable) PutSubdomain(label string, id account.ID) error {
	return t.put(kindSubdomain, label, id)
}

func (t *nameTable) find(k kind, name string) (id account.ID, found bool, err error) {
	found, err = t.read(appendText(nil, k, name), func(value []byte) error {
		id, err = readAccount(value)
		return err
	})
	return id, found && err == nil, err
}

func (t *nameTable) put(k kind, name string, id account.ID) error {
	return t.update(partition.Of(name), 512, func(w *writer) { w.set(appendText(nil, k, name), accountValue(id)) })
}
