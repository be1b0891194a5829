package http

import (
	"inboxd/internal/inbox"
	"inboxd/internal/message"
)

// These members are on sent messages only: what they append on others is nothing, which
// leaves the member out.

func appendBcc(b []byte, e *messageJSON) []byte {
	if e.meta.Sending == nil {
		return b
	}
	var blind []message.Mailbox
	for _, r := range e.meta.Sending.Recipients {
		if r.Bcc {
			blind = append(blind, message.Mailbox{Email: r.Email})
		}
	}
	return appendMailboxes(b, blind)
}

func appendSendStatus(b []byte, e *messageJSON) []byte {
	if e.meta.Sending == nil {
		return b
	}
	return appendString(b, e.meta.Sending.Status.String())
}

func appendSendError(b []byte, e *messageJSON) []byte {
	if e.meta.Sending == nil {
		return b
	}
	why := e.meta.Sending.Reason()
	if why == "" {
		return b
	}
	return appendString(b, why)
}

func appendRecipients(b []byte, e *messageJSON) []byte {
	if e.meta.Sending == nil {
		return b
	}
	return appendList(b, e.meta.Sending.Recipients, func(b []byte, r inbox.Recipient) []byte {
		b = appendString(append(b, `{"email":`...), r.Email)
		b = appendString(append(b, `,"status":`...), r.Status.String())
		b = appendStringOrNull(append(b, `,"error":`...), r.Error)
		b = appendStringOrNull(append(b, `,"mx":`...), r.MX)
		b = appendTimeOrNull(append(b, `,"at":`...), r.At)
		return append(b, '}')
	})
}
