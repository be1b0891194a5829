package ingest

import (
	"strings"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
)

// Keyed makes a digest of another one that only this node can make.
type Keyed func(inbox.Digest) (inbox.Digest, error)

// SealedFor is For with the recipient's public key. The command contains only envelopes and the
// unencrypted facts of an encrypted message, and shares no memory with the message. If it fails,
// nothing is stored: a message that cannot be encrypted is refused.
func (m Mail) SealedFor(rcpts []string, key sealed.Recipient, keyed Keyed) (inbox.Receive, error) {
	digest, single := m.Digest, m.Digest == (inbox.Digest{})
	if single {
		digest = inbox.DigestOf(m.mailFrom, rcpts, m.Raw[m.traceLen:])
	}
	repeat, err := keyed(digest)
	if err != nil {
		return inbox.Receive{}, err
	}
	mail, err := key.Mail(m.Raw)
	if err != nil {
		return inbox.Receive{}, err
	}
	cmd := inbox.Receive{
		From: message.Mailbox{Email: strings.Clone(m.From.Email)}, EnvelopeTo: rcpts[0], Named: several(rcpts),
		Content: &inbox.Content{Doc: sealed.Facts(&m.Content.Doc), Auth: m.Content.Auth, Spam: undescribed(m.Content.Spam)},
		Raw:     mail.Envelope,
		Sealed:  &inbox.Sealing{Size: int64(len(m.Raw)), Files: mail.Files, Repeat: repeat, Named: m.Content.Doc.MessageID != ""},
	}
	if !single {
		cmd.Digest = repeat
	}
	return cmd, nil
}

// undescribed is a verdict without the descriptions of rules, which may quote the message.
func undescribed(s *inbox.Spam) *inbox.Spam {
	if s == nil {
		return nil
	}
	told := *s
	told.Rules = make([]inbox.SpamRule, len(s.Rules))
	for i, r := range s.Rules {
		told.Rules[i] = inbox.SpamRule{Name: r.Name, Weight: r.Weight}
	}
	return &told
}

// facts extracts the facts of a message that may be stored unencrypted.
func facts(env Envelope, raw []byte) *inbox.Content {
	content := &inbox.Content{Auth: env.Verdict.Auth}
	if !survive(raw, func() {
		failpoint(raw)
		message.ParseFacts(&content.Doc, raw)
	}) {
		content.Doc = message.Document{Degraded: true}
	}
	return content
}
