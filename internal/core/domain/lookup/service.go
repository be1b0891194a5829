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

// ServiceRecord is a record that others must find in DNS about the service's own domain.
type ServiceRecord struct {
	Type string   `json:"type"`   // MX, A, PTR or TXT
	Name string   `json:"name"`   // the queried name
	Want string   `json:"wanted"` // the value to publish; a description where only the operator knows the value
	Has  []string `json:"shown"`  // the published values
	OK   bool     `json:"ok"`
	Err  string   `json:"error,omitempty"` // why DNS did not answer; empty: it did
}

// QueryService queries the DNS records of the service at name, whose mail server is mxHost. MX,
// wildcard and A bring messages to it and its subdomains; PTR, SPF, DKIM and DMARC make others
// accept its messages. signing are the records of the keys that it signs with.
func QueryService(ctx context.Context, r ServiceResolver, name, mxHost string, signing []domain.DNSRecord) []ServiceRecord {
	state := domain.State{Name: name}
	var all []ServiceRecord
	for _, rec := range append(state.Records(mxHost)[1:], signing...) { // the first proves ownership, which a service does not need
		all = append(all, queryRecord(ctx, r, rec.Name, rec))
		if rec.FoundBit == domain.MX || rec.FoundBit == domain.SPF { // subdomains have no records of their own
			below := queryRecord(ctx, r, strings.ToLower(rand.Text())+"."+name, rec)
			below.Name = "*." + name
			all = append(all, below)
		}
	}
	return append(all, queryAddresses(ctx, r, mxHost)...)
}

// queryRecord queries name for the value of rec.
func queryRecord(ctx context.Context, r Resolver, name string, rec domain.DNSRecord) ServiceRecord {
	s := ServiceRecord{Type: rec.Type, Name: name, Want: rec.Value}
	rec.Name = name
	texts, err := publishedValues(ctx, r, rec)
	s.Has, s.Err = texts, unansweredReason(err)
	s.OK = err == nil && rec.Value != "" && rec.IsPublished(texts)
	return s
}

// queryAddresses looks up the addresses of the mail server, and whether each has the server's name.
// Many servers reject messages from an address without it.
func queryAddresses(ctx context.Context, r ServiceResolver, host string) []ServiceRecord {
	found, err := r.LookupIPAddr(ctx, host)
	at := ServiceRecord{Type: "A", Name: host, Want: "the public addresses of this server", OK: len(found) > 0, Err: unansweredReason(err)}
	all := []ServiceRecord{at}
	for _, ip := range found {
		all[0].Has = append(all[0].Has, ip.String())
		names, err := r.LookupAddr(ctx, ip.String())
		all = append(all, ServiceRecord{
			Type: "PTR", Name: ip.String(), Want: host, Has: names, Err: unansweredReason(err),
			OK: slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSuffix(n, "."), host) }),
		})
	}
	return all
}

// publishedValues are the texts or hosts at rec's name, in the form that Record.IsPublished takes.
func publishedValues(ctx context.Context, r Resolver, rec domain.DNSRecord) (texts []string, err error) {
	if rec.Type != "MX" {
		return r.LookupTXT(ctx, rec.Name)
	}
	hosts, err := r.LookupMX(ctx, rec.Name)
	for _, mx := range hosts {
		texts = append(texts, mx.Host)
	}
	return texts, err
}

// isAbsent reports whether DNS answered that the record does not exist.
func isAbsent(err error) bool {
	var none *net.DNSError
	return errors.As(err, &none) && none.IsNotFound
}

// unansweredReason is why DNS gave no answer, without the name, which is displayed next to it.
func unansweredReason(err error) string {
	var why *net.DNSError
	switch {
	case err == nil, isAbsent(err):
		return ""
	case errors.As(err, &why):
		return why.Err
	}
	return err.Error()
}
