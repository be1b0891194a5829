package benchtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

type fakeInbox struct {
	key   string
	codes []string // id of a message is its place, from 1
	own   string   // its own key

	sealed bool
}

// fakeRecord is a line of the journal: an inbox, or a mail when it has a code.
type fakeRecord struct {
	Address, Key, Code string
	Gone, Sealed       bool
}

func (f *Fake) open(dir string) (err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f.journal, err = os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for d := json.NewDecoder(f.journal); ; {
		var r fakeRecord
		if err := d.Decode(&r); err != nil {
			return nil
		}
		f.apply(r)
	}
}

func (f *Fake) apply(r fakeRecord) {
	if r.Gone {
		delete(f.inboxes, r.Address)
		f.order = slices.DeleteFunc(f.order, func(a string) bool { return a == r.Address })
		return
	}
	if r.Code == "" {
		f.inboxes[r.Address] = &fakeInbox{key: r.Key, sealed: r.Sealed}
		f.order = append(f.order, r.Address)
		return
	}
	f.inboxes[r.Address].codes = append(f.inboxes[r.Address].codes, r.Code)
	f.mails = append(f.mails, r)
}

func (f *Fake) commit(r fakeRecord) {
	line, _ := json.Marshal(r)
	_, _ = f.journal.Write(append(line, '\n'))
	f.apply(r)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Fake) shown(code string) any {
	switch {
	case f.wrongCode:
		return "999999"
	case code == "none":
		return nil
	}
	return code
}

func (f *Fake) knows(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inboxes[address] != nil
}

// Codes are those of all mails that it took, with the inbox of each.
func (f *Fake) Codes() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	codes := make(map[string]string)
	for address, in := range f.inboxes {
		for _, code := range in.codes {
			codes[code] = address
		}
	}
	return codes
}
