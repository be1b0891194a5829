package ingest

import (
	"strings"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
)

// DigestKeyer makes a digest of another one that only this node can make.
type DigestKeyer func(inbox.MessageDigest) (inbox.MessageDigest, error)

// SealedFor is ReceiveFor with the recipient's public key. The command contains only envelopes and the
// unencrypted facts of an encrypted message, and shares no memory with the message. If it fails,
// nothing is stored: a message that cannot be encrypted is refused.
func (m IncomingMessage) SealedFor(rcpts []string, key sealed.RecipientKey, keyed DigestKeyer) (inbox.Receive, error) {
	digest, single := m.Digest, m.Digest == (inbox.MessageDigest{})
	if single {
		digest = inbox.DigestOf(m.mailFrom, rcpts, m.Raw[m.traceLen:])
	}
	repeat, err := keyed(digest)
	if err != nil {
		return inbox.Receive{}, err
	}
	mail, err := key.SealMessage(m.Raw)
	if err != nil {
		return inbox.Receive{}, err
	}
	cmd := inbox.Receive{
		From: message.Mailbox{Email: strings.Clone(m.From.Email)}, EnvelopeTo: rcpts[0], NamedRecipients: copySeveral(rcpts),
		Content:        &inbox.Content{Doc: sealed.UnencryptedFacts(&m.Content.Doc), Auth: m.Content.Auth, Simulated: m.Content.Simulated, Spam: undescribed(m.Content.Spam)},
		Raw:            mail.Envelope,
		EncryptedParts: &inbox.EncryptedParts{PlainSize: int64(len(m.Raw)), EncryptedFiles: mail.Files, RepeatDigest: repeat, HasMessageID: m.Content.Doc.MessageID != ""},
	}
	if !single {
		cmd.Digest = repeat
	}
	return cmd, nil
}

// undescribed is a verdict without the descriptions of rules, which may quote the message.
func undescribed(s *inbox.SpamVerdict) *inbox.SpamVerdict {
	if s == nil {
		return nil
	}
	visible := *s
	visible.Rules = make([]inbox.SpamRule, len(s.Rules))
	for i, r := range s.Rules {
		visible.Rules[i] = inbox.SpamRule{Name: r.Name, Weight: r.Weight}
	}
	return &visible
}

// extractFacts extracts the facts of a message that may be stored unencrypted.
func extractFacts(env Envelope, raw []byte) *inbox.Content {
	content := &inbox.Content{Auth: env.Verdict.Auth}
	if !survivesPanic(raw, func() {
		failpoint(raw)
		message.ParseFacts(&content.Doc, raw)
	}) {
		content.Doc = message.ParsedMessage{IsDegraded: true}
	}
	return content
}
