package ingest

import (
	"cmp"
	"context"
	"time"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/mailauth"
)

// MessageAuthenticator authenticates a message, between the final dot and the commit. Sessions
// share it and never modify it.
type MessageAuthenticator struct {
	AuthServID     string             // our authserv-id
	DNS            mailauth.Resolver  // nil: nothing is checked
	LocalKeys      mailauth.LocalKeys // nil: none
	CachedFindings mailauth.Findings  // the zero value: no caching between messages
	Now            func() time.Time
}

// VerdictFor is an Envelope.DetermineVerdict. A message without a HELO never left this node.
func (j MessageAuthenticator) VerdictFor(ctx context.Context, env Envelope, raw []byte) AuthVerdict {
	r := mailauth.VerifyMessage(ctx, mailauth.VerifyInput{
		ClientIP: env.RemoteIP, HELO: cmp.Or(env.Helo, j.AuthServID), MailFrom: env.MailFrom,
		RawMessage: raw[env.TraceLen:], LocalKeys: j.LocalKeys, Now: j.Now(), Findings: j.CachedFindings,
	}, j.DNS)
	v := AuthVerdict{
		Auth:        inbox.Auth{CheckingServer: j.AuthServID, SPF: authResult(r.SPF), DKIM: authResult(r.DKIM), DMARC: authResult(r.DMARC), HELO: r.HELO},
		FromAligned: r.FromAligned(), SPFVouches: r.SPFVouches(), FailsDMARC: r.FailsEnforcedPolicy,
	}
	v.Auth.FromVerified = fromVerified(&r, env.Helo == "")
	for _, s := range r.Signatures {
		v.Auth.Signatures = append(v.Auth.Signatures, inbox.AuthSignature{
			Word: string(s.ResultCode), Domain: s.Domain, Selector: s.Selector, Algorithm: s.Algorithm,
		})
	}
	if len(r.Signatures) > 0 { // without a signature nothing is authenticated
		kept := r
		v.SignsFor = kept.AuthenticatesDomain
	}
	return v
}

// fromVerified reports whether the message comes from the domain of its From. If the message never
// left this node, its From is a local inbox, so only a DMARC failure contradicts it.
func fromVerified(r *mailauth.AuthResult, local bool) bool {
	switch r.DMARC.ResultCode {
	case mailauth.Pass:
		return true
	case mailauth.Fail:
		return false
	case mailauth.None:
		return local || r.FromAligned()
	}
	return local
}

func authResult(v mailauth.Verdict) inbox.AuthResult {
	return inbox.AuthResult{ResultKeyword: string(v.ResultCode), Domain: v.Domain}
}
