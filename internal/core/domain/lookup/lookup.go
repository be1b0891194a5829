// Package lookup asks DNS for the records of a domain. What an answer is worth is for
// package domain to say.
package lookup

import (
	"context"
	"errors"
	"net"
	"sync"

	"inboxd/internal/core/domain"
)

// Resolver asks DNS as net.Resolver does. A *net.DNSError with IsNotFound says that there
// is no such record; any other error says nothing about it.
type Resolver interface {
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// All asks for all records at once, and returns which got an answer, and which of those are
// published.
func All(ctx context.Context, r Resolver, records []domain.Record) (known, found domain.Found) {
	var mu sync.Mutex // guards the results
	var asking sync.WaitGroup
	for _, rec := range records {
		asking.Go(func() {
			ok, err := Published(ctx, r, rec)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				known |= rec.Bit
			}
			if ok {
				found |= rec.Bit
			}
		})
	}
	asking.Wait()
	return known, found
}

var errDamaged = errors.New("lookup: the key of the record is damaged")

// Published reports whether DNS has rec; an error means that nobody knows.
func Published(ctx context.Context, r Resolver, rec domain.Record) (bool, error) {
	if rec.Value == "" {
		return false, errDamaged
	}
	texts, err := answers(ctx, r, rec)
	if absent(err) {
		return false, nil
	}
	return err == nil && rec.Published(texts), err
}
