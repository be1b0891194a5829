package lookup

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"slices"
	"strings"

	"inboxd/internal/core/domain"
)

// ServiceResolver also looks up addresses and their names.
type ServiceResolver interface {
	Resolver
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
	LookupAddr(ctx context.Context, ip string) ([]string, error)
}

// Shown is a record that others must find in DNS about the service's own domain.
type Shown struct {
	Type string   // MX, A, PTR or TXT
	Name string   // the queried name
	Want string   // the value to publish; a description where only the operator knows the value
	Has  []string // the published values
	OK   bool
	Err  string // why DNS did not answer; empty: it did
}

// Service queries the DNS records of the service at name, whose mail server is mxHost. MX, wildcard
// and A bring messages to it and its subdomains; PTR, SPF, DKIM and DMARC make others accept its
// messages. signing are the records of the keys that it signs with.
func Service(ctx context.Context, r ServiceResolver, name, mxHost string, signing []domain.Record) []Shown {
	state := domain.State{Name: name}
	var all []Shown
	for _, rec := range append(state.Records(mxHost)[1:], signing...) { // the first proves ownership, which a service does not need
		all = append(all, record(ctx, r, rec.Name, rec))
		if rec.Bit == domain.MX || rec.Bit == domain.SPF { // subdomains have no records of their own
			below := record(ctx, r, strings.ToLower(rand.Text())+"."+name, rec)
			below.Name = "*." + name
			all = append(all, below)
		}
	}
	return append(all, addresses(ctx, r, mxHost)...)
}

// record queries name for the value of rec.
func record(ctx context.Context, r Resolver, name string, rec domain.Record) Shown {
	s := Shown{Type: rec.Type, Name: name, Want: rec.Value}
	rec.Name = name
	texts, err := answers(ctx, r, rec)
	s.Has, s.Err = texts, unanswered(err)
	s.OK = err == nil && rec.Value != "" && rec.Published(texts)
	return s
}

// addresses looks up the addresses of the mail server, and whether each has the server's name. Many
// servers reject messages from an address without it.
func addresses(ctx context.Context, r ServiceResolver, host string) []Shown {
	found, err := r.LookupIPAddr(ctx, host)
	at := Shown{Type: "A", Name: host, Want: "the public addresses of this server", OK: len(found) > 0, Err: unanswered(err)}
	all := []Shown{at}
	for _, ip := range found {
		all[0].Has = append(all[0].Has, ip.String())
		names, err := r.LookupAddr(ctx, ip.String())
		all = append(all, Shown{
			Type: "PTR", Name: ip.String(), Want: host, Has: names, Err: unanswered(err),
			OK: slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSuffix(n, "."), host) }),
		})
	}
	return all
}

// answers are the texts or hosts at rec's name, in the form that Record.Published takes.
func answers(ctx context.Context, r Resolver, rec domain.Record) (texts []string, err error) {
	if rec.Type != "MX" {
		return r.LookupTXT(ctx, rec.Name)
	}
	hosts, err := r.LookupMX(ctx, rec.Name)
	for _, mx := range hosts {
		texts = append(texts, mx.Host)
	}
	return texts, err
}

// absent reports whether DNS answered that the record does not exist.
func absent(err error) bool {
	var none *net.DNSError
	return errors.As(err, &none) && none.IsNotFound
}

// unanswered is why DNS gave no answer, without the name, which is displayed next to it.
func unanswered(err error) string {
	var why *net.DNSError
	switch {
	case err == nil, absent(err):
		return ""
	case errors.As(err, &why):
		return why.Err
	}
	return err.Error()
}
