package actors

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"inboxd/actors/engine"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/domain/lookup"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/mailauth"
)

// SigningKey is a DKIM key ready to sign (RFC 6376, RFC 8463).
type SigningKey struct {
	Selector   string
	Algorithm  domain.Algorithm
	PrivateKey crypto.Signer
}

// usableFor is how long a DNS result about a key stays cached. A domain that sends costs two small
// queries a minute, so a repaired or broken record takes effect soon.
const usableFor = time.Minute

// Keyring holds the keys that sign sent messages: the decrypted keys and the last DNS result about
// each. Its map is safe for concurrent use and the values are immutable, so any goroutine may use
// it.
type Keyring struct {
	owners        domainOwners
	store         DomainStore
	namespaces    inbox.Namespaces
	resolver      lookup.Resolver
	now           func() time.Time
	log           *slog.Logger
	byName        *xsync.Map[string, *domainSigner]
	keyGenSlots   chan struct{} // bounds key generation, which takes 0.1 s of a core or more for each key
	serviceKeysMu sync.Mutex    // the service domain's keys are generated only once
}

// domainSigner is what is cached of one domain. It belongs to the claim with this token and is
// immutable.
type domainSigner struct {
	claimToken string
	keys       []SigningKey     // one for each key of the domain, in the same order
	usableKeys domain.RecordSet // at the last look-up
	recheckAt  time.Time        // when to look up again
}

func newKeyring(owners domainOwners, store DomainStore, o Options, now func() time.Time) *Keyring {
	return &Keyring{
		owners: owners, store: store, namespaces: o.Namespaces, resolver: o.Resolver, now: now, log: o.Logger,
		byName: xsync.NewMap[string, *domainSigner](), keyGenSlots: make(chan struct{}, 2),
	}
}

// forgetSigner drops the decrypted keys if the domain now has other keys.
func (r *Keyring) forgetSigner(state domain.State) {
	if held, ok := r.byName.Load(state.Name); ok && (held.claimToken != state.OwnershipToken || len(held.keys) != len(state.Keys)) {
		r.byName.Delete(state.Name)
	}
}

// ReleaseGroup drops the decrypted keys of a group's domains.
func (r *Keyring) ReleaseGroup(g partition.Group) error {
	r.byName.DeleteMatching(func(name string, _ *domainSigner) (bool, bool) { return partition.Of(name).Group() == g, false })
	return nil
}

// lookAgain makes the next signature look up the records of a domain.
func (r *Keyring) lookAgain(name string) {
	r.byName.Compute(name, func(held *domainSigner, loaded bool) (*domainSigner, xsync.ComputeOp) {
		if !loaded {
			return nil, xsync.CancelOp
		}
		again := *held
		again.recheckAt = time.Time{}
		return &again, xsync.UpdateOp
	})
}

// makeKeys generates the two keys of a domain, with encrypted private parts. The selectors contain the
// day, so that keys of different days have different records. It runs in the caller's goroutine,
// never in an actor's.
func (r *Keyring) makeKeys(ctx context.Context, name string) ([]domain.DKIMKey, error) {
	select {
	case r.keyGenSlots <- struct{}{}:
		defer func() { <-r.keyGenSlots }()
	case <-ctx.Done():
		return nil, engine.BusyError(ctx.Err())
	}
	made, err := mailauth.NewKeys()
	if err != nil {
		return nil, err
	}
	day := r.now().Format("20060102")
	rsa, err := r.encryptedKey(name, domain.DKIMKey{Selector: "r" + day, Algorithm: domain.RSA}, made.RSA)
	if err != nil {
		return nil, err
	}
	ed, err := r.encryptedKey(name, domain.DKIMKey{Selector: "e" + day, Algorithm: domain.Ed25519}, made.Ed25519)
	return []domain.DKIMKey{rsa, ed}, err
}

func (r *Keyring) encryptedKey(name string, k domain.DKIMKey, private crypto.Signer) (_ domain.DKIMKey, err error) {
	if k.Public, err = x509.MarshalPKIXPublicKey(private.Public()); err != nil {
		return k, err
	}
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return k, err
	}
	k.Encrypted, err = r.store.EncryptSecret(keyPurpose(name, k), plain)
	return k, err
}

// keyPurpose binds an encrypted key to its place: a row copied to another domain is refused.
func keyPurpose(name string, k domain.DKIMKey) string { return "dkim " + k.Selector + " " + name }

// SigningKeys returns the keys that sign messages from this address, and the domain that they sign
// for (d=). Without keys the message is sent unsigned: either the domain does not belong to the
// account, or its public records do not match (specification, Sending). The service domain always
// signs, also for the names below it.
func (r *Keyring) SigningKeys(ctx context.Context, from string) (string, []SigningKey, error) {
	host := hostOf(from)
	if domain.IsWithin(host, r.namespaces.ServiceDomain) {
		state, err := r.serviceDomain(ctx)
		if err != nil {
			return "", nil, err
		}
		held, err := r.openSigner(state)
		if err != nil {
			return "", nil, err
		}
		return state.Name, held.keys, nil
	}
	if gone, err := isOrphaned(r.store, r.namespaces.ServiceDomain, from); err != nil || gone {
		return "", nil, err
	}
	state, err := r.store.LoadDomain(host)
	if err != nil || state.VerifiedAt.IsZero() {
		return "", nil, err
	}
	keys, err := r.usableKeys(ctx, *state)
	return state.Name, keys, err
}

// usableKeys returns the keys whose public record is correct. While DNS fails, the last result
// counts.
func (r *Keyring) usableKeys(ctx context.Context, state domain.State) ([]SigningKey, error) {
	held, err := r.openSigner(state)
	if err != nil {
		return nil, err
	}
	if !r.now().Before(held.recheckAt) {
		held = r.lookAtKeys(ctx, state, held)
	}
	var keys []SigningKey
	for i, k := range state.Keys {
		if held.usableKeys&domain.FoundOf(k) != 0 {
			keys = append(keys, held.keys[i])
		}
	}
	return keys, nil
}

func (r *Keyring) lookAtKeys(ctx context.Context, state domain.State, held *domainSigner) *domainSigner {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	fresh := *held
	if fresh.recheckAt.IsZero() {
		fresh.usableKeys = state.FoundRecords
	}
	fresh.recheckAt = r.now().Add(usableFor)
	for _, k := range state.Keys {
		ok, err := lookup.IsPublished(look, r.resolver, domain.KeyRecord(state.Name, k))
		switch bit := domain.FoundOf(k); {
		case err != nil:
			r.log.Info("DKIM record lookup failed", "domain", state.Name, "selector", k.Selector, "err", err)
		case ok:
			fresh.usableKeys |= bit
		default:
			fresh.usableKeys &^= bit
		}
	}
	r.byName.Compute(state.Name, func(now *domainSigner, loaded bool) (*domainSigner, xsync.ComputeOp) {
		if !loaded || now.claimToken != state.OwnershipToken {
			return nil, xsync.CancelOp // released meanwhile
		}
		return &fresh, xsync.UpdateOp
	})
	return &fresh
}

// openSigner returns the private keys of a domain; it decrypts them at the first use.
func (r *Keyring) openSigner(state domain.State) (*domainSigner, error) {
	if held, ok := r.byName.Load(state.Name); ok && held.claimToken == state.OwnershipToken && len(held.keys) == len(state.Keys) {
		return held, nil
	}
	held := &domainSigner{claimToken: state.OwnershipToken}
	for _, k := range state.Keys {
		plain, err := r.store.Decrypt(keyPurpose(state.Name, k), k.Encrypted)
		if err != nil {
			return nil, err
		}
		private, err := x509.ParsePKCS8PrivateKey(plain)
		if err != nil {
			return nil, fmt.Errorf("the DKIM key %s of %s: %w", k.Selector, state.Name, err)
		}
		signer, ok := private.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("the DKIM key %s of %s can't sign", k.Selector, state.Name)
		}
		held.keys = append(held.keys, SigningKey{k.Selector, k.Algorithm, signer})
	}
	r.byName.Store(state.Name, held)
	return held, nil
}

// serviceDomain returns the service's own domain. The node that serves the domain generates its
// keys at the first use.
func (r *Keyring) serviceDomain(ctx context.Context) (domain.State, error) {
	name := r.namespaces.ServiceDomain
	found, err := r.store.LoadDomain(name)
	if err != nil {
		return domain.State{}, engine.BusyError(err)
	}
	if len(found.Keys) > 0 {
		return *found, nil
	}
	r.serviceKeysMu.Lock()
	defer r.serviceKeysMu.Unlock()
	state, err := r.owners.sendCommand(ctx, name, readDomain{})
	if err != nil || len(state.Keys) > 0 {
		return state, err
	}
	keys, err := r.makeKeys(ctx, name)
	if err != nil {
		return state, err
	}
	return r.owners.sendCommand(ctx, name, domain.KeepKeys{Keys: keys})
}

// ServiceRecords lists the DKIM records of the service domain, for the operator.
func (r *Keyring) ServiceRecords(ctx context.Context) ([]domain.DNSRecord, error) {
	state, err := r.serviceDomain(ctx)
	records := make([]domain.DNSRecord, len(state.Keys))
	for i, k := range state.Keys {
		records[i] = domain.KeyRecord(state.Name, k)
	}
	return records, err
}

// PublicKey returns the public key of a selector whose private key this node holds. Signatures by
// it are verified without DNS (specification, Sending).
func (r *Keyring) PublicKey(name, selector string) (crypto.PublicKey, bool) {
	state, err := r.store.LoadDomain(name)
	if err != nil || state.IsClaimed() && state.VerifiedAt.IsZero() {
		return nil, false // a claim alone proves nothing
	}
	for _, k := range state.Keys {
		if k.Selector == selector {
			public, err := k.PublicKey()
			return public, err == nil
		}
	}
	return nil, false
}
