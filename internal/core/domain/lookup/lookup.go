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

// QueryAll queries all records concurrently. It returns for which of them DNS gave an answer, and which
// of those are published.
func QueryAll(ctx context.Context, r Resolver, records []domain.DNSRecord) (known, found domain.RecordSet) {
	var mu sync.Mutex // guards the results
	var asking sync.WaitGroup
	for _, rec := range records {
		asking.Go(func() {
			ok, err := IsPublished(ctx, r, rec)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				known |= rec.FoundBit
			}
			if ok {
				found |= rec.FoundBit
			}
		})
	}
	asking.Wait()
	return known, found
}

var errDamaged = errors.New("lookup: the key in the record is invalid")

// IsPublished reports whether DNS has rec. An error means that this is unknown.
func IsPublished(ctx context.Context, r Resolver, rec domain.DNSRecord) (bool, error) {
	if rec.Value == "" {
		return false, errDamaged
	}
	texts, err := publishedValues(ctx, r, rec)
	if isAbsent(err) {
		return false, nil
	}
	return err == nil && rec.IsPublished(texts), err
}
