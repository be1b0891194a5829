package inbox

import (
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/mail/message/compose"
)

// SendRequest is a client's request to send a message (specification, Sending). Addresses are as
// CheckRecipient returns them; InReplyTo has no angle brackets.
type SendRequest struct {
	To            string
	Cc, Bcc       []string
	Subject       string
	Text          string
	HTML          string
	AttachedFiles []compose.DraftAttachment
	InReplyTo     string
}

// To is a recipient without any attempt.
func To(email string) OutgoingRecipient {
	return OutgoingRecipient{RecipientState: delivery.RecipientState{Email: email}}
}

// Recipients lists all recipients of the message, each once in whatever spelling. A recipient in To
// or Cc is not a blind copy.
func (l *SendRequest) Recipients() []OutgoingRecipient {
	var out []OutgoingRecipient
	named := map[string]bool{}
	add := func(email string, bcc bool) {
		if one := address.FoldLocal(email); !named[one] {
			named[one] = true
			r := To(email)
			r.Bcc = bcc
			out = append(out, r)
		}
	}
	add(l.To, false)
	for _, email := range l.Cc {
		add(email, false)
	}
	for _, email := range l.Bcc {
		add(email, true)
	}
	return out
}

// QuotaCount is what the account's plan must allow for the message.
func (l *SendRequest) QuotaCount() account.CountSend {
	c := account.CountSend{RecipientCount: len(l.Recipients()), FileCount: len(l.AttachedFiles)}
	for _, f := range l.AttachedFiles {
		c.FileBytes += int64(len(f.Bytes))
	}
	return c
}

// CheckRecipient returns the canonical form of a recipient address, see address.CanonicalRecipient. The
// error is a fault.InvalidRequest that names the field.
func CheckRecipient(field, email string) (string, error) {
	to, err := address.CanonicalRecipient(email)
	if err != nil {
		return "", fault.InvalidField(field, "contains an e-mail address %v", err)
	}
	return to, nil
}
