package inbox

import (
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/mail/message/compose"
)

// Letter is a client's request to send a message (specification, Sending). Addresses are as
// CheckRecipient returns them; InReplyTo has no angle brackets.
type Letter struct {
	To        string
	Cc, Bcc   []string
	Subject   string
	Text      string
	HTML      string
	Files     []compose.File
	InReplyTo string
}

// To is a recipient without any attempt.
func To(email string) Recipient { return Recipient{Recipient: delivery.Recipient{Email: email}} }

// Recipients lists all recipients of the message, each once in whatever spelling. A recipient in To
// or Cc is not a blind copy.
func (l *Letter) Recipients() []Recipient {
	var out []Recipient
	named := map[string]bool{}
	add := func(email string, bcc bool) {
		if one := address.Fold(email); !named[one] {
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

// Count is what the account's plan must allow for the message.
func (l *Letter) Count() account.CountSend {
	c := account.CountSend{Recipients: len(l.Recipients()), Files: len(l.Files)}
	for _, f := range l.Files {
		c.FileBytes += int64(len(f.Bytes))
	}
	return c
}

// CheckRecipient returns the canonical form of a recipient address, see address.Recipient. The
// error is a fault.Invalid that names the field.
func CheckRecipient(field, email string) (string, error) {
	to, err := address.Recipient(email)
	if err != nil {
		return "", fault.Field(field, "contains an e-mail address %v", err)
	}
	return to, nil
}
