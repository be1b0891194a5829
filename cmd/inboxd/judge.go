package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"inboxd/internal/inbox"
	"inboxd/internal/ingest"
	"inboxd/internal/mailauth"
)

// judge is mailauth as receiving wants it: it asks who vouches for a mail, between the final
// dot and the commit.
type judge struct {
	server   string // our authserv-id
	dns      mailauth.Resolver
	keys     mailauth.LocalKeys // nil: none
	findings mailauth.Findings  // the zero value: each mail is judged as if it were the first
}

// newJudge makes the judge of mail from outside, of which much comes from few senders.
func newJudge(server string, dns mailauth.Resolver, keys mailauth.LocalKeys) judge {
	return judge{server, dns, keys, mailauth.NewFindings()}
}

func (j judge) judge(ctx context.Context, env ingest.Envelope, raw []byte) ingest.Verdict {
	r := mailauth.Verify(ctx, mailauth.VerifyInput{
		ClientIP: env.RemoteIP, HELO: env.Helo, MailFrom: env.MailFrom,
		Raw: raw[env.TraceLen:], LocalKeys: j.keys, Now: time.Now(), Findings: j.findings,
	}, j.dns)
	auth := inbox.Auth{Server: j.server, SPF: result(r.SPF), DKIM: result(r.DKIM), DMARC: result(r.DMARC), HELO: r.HELO}
	for _, s := range r.Signatures {
		auth.Signatures = append(auth.Signatures, inbox.AuthSignature{
			Word: string(s.Word), Domain: s.Domain, Selector: s.Selector, Algorithm: s.Algorithm,
		})
	}
	v := ingest.Verdict{Auth: auth}
	if len(r.Signatures) > 0 { // without one nothing is aligned
		kept := r
		v.Aligned = kept.Aligned
	}
	return v
}

func result(v mailauth.Verdict) inbox.AuthResult {
	return inbox.AuthResult{Word: string(v.Word), Domain: v.Domain}
}

// dnsServer checks --dns. Without a port it is DNS's own.
func dnsServer(flag string) (string, error) {
	if flag == "" {
		return "", nil
	}
	if _, err := netip.ParseAddr(flag); err == nil || !strings.Contains(flag, ":") {
		return net.JoinHostPort(flag, "53"), nil
	}
	if host, port, err := net.SplitHostPort(flag); err != nil || host == "" || port == "" {
		return "", fmt.Errorf("--dns %q is not a server such as 127.0.0.1:53", flag)
	}
	return flag, nil
}
