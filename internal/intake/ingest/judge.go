package ingest

import (
	"cmp"
	"context"
	"time"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/mailauth"
)

// Judge authenticates a message, between the final dot and the commit. Sessions share it and never
// modify it.
type Judge struct {
	Server   string             // our authserv-id
	DNS      mailauth.Resolver  // nil: nothing is checked
	Keys     mailauth.LocalKeys // nil: none
	Findings mailauth.Findings  // the zero value: no caching between messages
	Now      func() time.Time
}

// Verdict is an Envelope.Judge. A message without a HELO never left this node.
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
	if len(r.Signatures) > 0 { // without a signature nothing is authenticated
		kept := r
		v.Vouches = kept.Vouches
	}
	return v
}

// fromVerified reports whether the message comes from the domain of its From. If the message never
// left this node, its From is a local inbox, so only a DMARC failure contradicts it.
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
