package resolve

import (
	"errors"
	"net"
)

// errNoSuchDomain marks the errors of names that do not exist.
var errNoSuchDomain = errors.New("no such domain")

// errUnknown is the error for a question that needs a query first.
var errUnknown = errors.New("not known yet")

// NoSuchDomain distinguishes a name that does not exist (NXDOMAIN) from one without a record of the
// requested type. Both are IsNotFound.
func NoSuchDomain(err error) bool { return errors.Is(err, errNoSuchDomain) }

func noSuchDomain(q dnsQuestion) *net.DNSError {
	return &net.DNSError{Err: "no such domain", Name: q.name, IsNotFound: true, UnwrapErr: errNoSuchDomain}
}

func noData(q dnsQuestion) *net.DNSError {
	return &net.DNSError{Err: "no such record", Name: q.name, IsNotFound: true}
}

func temporaryError(q dnsQuestion, why string) *net.DNSError {
	return &net.DNSError{Err: why, Name: q.name, IsTemporary: true}
}

func timedOut(q dnsQuestion, why string) *net.DNSError {
	return &net.DNSError{Err: why, Name: q.name, IsTimeout: true, IsTemporary: true}
}

func isNotFound(err error) bool {
	var d *net.DNSError
	return errors.As(err, &d) && d.IsNotFound
}
