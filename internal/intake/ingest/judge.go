package ingest

import (
	"cmp"
	"context"
	"time"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/mailauth"
)

// Judge asks who vouches for a mail, between the final dot and the commit. Sessions share it
// and never change it.
type Judge struct {
	Server   string             // our authserv-id
	DNS      mailauth.Resolver  // nil: nobody is asked
	Keys     mailauth.LocalKeys // nil: none
	Findings mailauth.Findings  // the zero value: each mail is judged as if it were the first
	Now      func() time.Time
}

// Verdict is an Envelope.Judge. A mail without a HELO never left this node.
func (j Judge) Verdict(ctx context.Context, env Envelope, raw []byte) Verdict {
	r := mailauth.Verify(ctx, mailauth.VerifyInput{
		ClientIP: env.RemoteIP, HELO: cmp.Or(env.Helo, j.Server), MailFrom: env.MailFrom,
		Raw: raw[env.TraceLen:], LocalKeys: j.Keys, Now: j.Now(), Findings: j.Findings,
	}, j.DNS)
	v := Verdict{
		Auth:        inbox.Auth{Server: j.Server, SPF: result(r.SPF), DKIM: result(r.DKIM), DMARC: result(r.DMARC), HELO: r.HELO},
		FromAligned: r.FromAligned(), SPFVouches: r.SPFVouches(), Unwanted: r.Unwanted,
	}
	v.Auth.FromVerified = fromVerified(&r, env.Helo == "")
	for _, s := range r.Signatures {
		v.Auth.Signatures = append(v.Auth.Signatures, inbox.AuthSignature{
			Word: string(s.Word), Domain: s.Domain, Selector: s.Selector, Algorithm: s.Algorithm,
		})
	}
	if len(r.Signatures) > 0 { // without one nothing is vouched for
		kept := r
		v.Vouches = kept.Vouches
	}
	return v
}

// fromVerified reports whether the message comes from the domain of its From. The From of a message that
// never left this node is an inbox of it, so only a DMARC failure speaks against it.
func fromVerified(r *mailauth.Result, local bool) bool {
	switch r.DMARC.Word {
	case mailauth.Pass:
		return true
	case mailauth.Fail:
		return false
	case mailauth.None:
		return local || r.FromAligned()
	}
	return local
}

func result(v mailauth.Verdict) inbox.AuthResult {
	return inbox.AuthResult{Word: string(v.Word), Domain: v.Domain}
}
