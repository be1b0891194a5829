// Package lookup queries DNS for the records of a domain. Package domain interprets the results.
package lookup

import (
	"context"
	"errors"
	"net"
	"sync"

	"inboxd/internal/core/domain"
)

// Resolver queries DNS as net.Resolver does. A *net.DNSError with IsNotFound means that
// the record does not exist; any other error leaves that open.
type Resolver interface {
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// All queries all records concurrently. It returns for which of them DNS gave an answer, and which
// of those are published.
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

var errDamaged = errors.New("lookup: the key in the record is invalid")

// Published reports whether DNS has rec. An error means that this is unknown.
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
