package main

import (
	"context"
	"time"

	"inboxd/actors"
	"inboxd/internal/ingest"
	"inboxd/internal/mailauth"
)

// sign makes the signature fields of a mail, one for each key.
func sign(raw []byte, domain string, keys []actors.SigningKey, at time.Time) ([]byte, error) {
	signers := make([]mailauth.Signer, len(keys))
	for i, k := range keys {
		signers[i] = mailauth.Signer{Domain: domain, Selector: k.Selector, Key: k.Signer, At: at}
	}
	signed, err := mailauth.Sign(raw, signers...)
	if err != nil {
		return nil, err
	}
	return signed[: len(signed)-len(raw) : len(signed)-len(raw)], nil
}

// judgeLocal judges mail that never leaves the node: by its signature alone, for it comes
// from no other host.
func judgeLocal(server string, dns mailauth.Resolver) func(context.Context, mailauth.LocalKeys, string, []byte) ingest.Verdict {
	return func(ctx context.Context, keys mailauth.LocalKeys, mailFrom string, raw []byte) ingest.Verdict {
		return judge{server: server, dns: dns, keys: keys}.judge(ctx, ingest.Envelope{MailFrom: mailFrom, Helo: server}, raw)
	}
}
