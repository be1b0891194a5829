package persist

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"inboxd/internal/core/account"
)

// BenchmarkAccountOfManyKeys reads an account whose 100,000 inboxes have a key each: its
// activation, and the look-ups of calls about keys.
func BenchmarkAccountOfManyKeys(b *testing.B) {
	const many = 100_000
	s, err := Open(filepath.Join(b.TempDir(), "data"), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	id := accountID(1)
	address := func(n int) string { return fmt.Sprintf("i%d@example.org", n) }
	for n := 0; n < many; n += 1000 {
		r := &account.Rows{ID: id, Profile: &account.Profile{ID: id, CreatedAt: at(0), InboxKeys: int64(n)}}
		for k := n; k < n+1000; k++ {
			r.PutKeys = append(r.PutKeys, &account.APIKey{ID: int64(k + 1), Hash: account.HashToken([]byte(address(k))), Kind: account.KindInboxKey, Inbox: address(k), CreatedAt: at(k)})
		}
		if err := s.CommitAccount(r); err != nil {
			b.Fatal(err)
		}
	}
	for name, read := range map[string]func(n int) error{
		"activate": func(int) error { _, err := s.LoadAccount(id); return err },
		"credential": func(n int) error {
			_, _, _, err := s.FindCredential(id.HomePartition(), account.HashToken([]byte(address(n))))
			return err
		},
		"key of inbox": func(n int) error { _, err := s.KeyOfInbox(id, address(n)); return err },
		"page of 100":  func(n int) error { _, err := s.ListKeys(id, int64(n), 100); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				if err := read(n * 7919 % many); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
