// Package ingest turns raw mail into the command that an inbox receives: it parses the
// message and looks for a code. It runs on the goroutine of the session that brought the
// mail, never inside an actor; a parser that panics costs nothing but that mail's parsed
// form. It refuses to know sessions, actors and the disk.
package ingest

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/message/html"
	"inboxd/internal/mail/otp"
	"inboxd/internal/mail/otp/link"
	"inboxd/internal/mail/otp/quote"
)

// Envelope is who sent the mail and whom it is for (RFC 5321).
type Envelope struct {
	MailFrom string     // empty for the null sender
	RcptTo   []string   // canonical, with their tags
	RemoteIP netip.Addr // invalid when the peer has no IP address
	Helo     string     // as the peer gave it
	// TraceLen is how many bytes on top of the mail are this node's own trace fields. They
	// differ each time the mail is offered.
	TraceLen int
	Verdict  Verdict
	// Judge seeks the verdict on the mail of this envelope, within a few seconds; nil when
	// there is nothing to seek.
	Judge func(ctx context.Context, env Envelope, raw []byte) Verdict
	// Sealed says that nobody gets the mail in the clear: no code, links or invitation are looked for.
	Sealed bool
	// Stored hears of each inbox that has the mail and of its id there; nil: nobody asks.
	Stored func(inbox string, id int64)
	// Shared is for the recipients of several envelopes that have the same bytes; nil: those of this one
	// alone share them.
	Shared *inbox.Shared
}

// Mail is one mail, read once for all its recipients.
type Mail struct {
	From    message.Mailbox
	Subject string
	Content *inbox.Content
	Raw     []byte
	Digest  inbox.Digest // zero for a single recipient
	// Invitations are what the message says of meetings, in the order of its file.
	Invitations []*calendar.Invitation
	// Stored is the envelope's.
	Stored func(inbox string, id int64)

	mailFrom string
	traceLen int
	shared   *inbox.Shared // nil for a single recipient
}

// Read parses raw. It always succeeds: what can't be read is marked as degraded.
func Read(env Envelope, raw []byte) Mail {
	var content *inbox.Content
	var invited []*calendar.Invitation
	if env.Sealed {
		content = facts(env, raw)
	} else {
		content, invited = read(env, raw)
	}
	m := Mail{Content: content, Raw: raw, Invitations: invited, Stored: env.Stored, mailFrom: env.MailFrom, traceLen: env.TraceLen, shared: env.Shared}
	// Lists keep these long after the document, whose header strings share one block.
	m.Subject, m.From = own(content.Doc.Subject, content.Doc.From)
	if m.From.Email == "" {
		m.From.Email = strings.ToValidUTF8(env.MailFrom, "\uFFFD")
	}
	if len(env.RcptTo) > 1 {
		m.Digest = inbox.DigestOf(env.MailFrom, env.RcptTo, raw[env.TraceLen:])
		m.shared = cmp.Or(m.shared, new(inbox.Shared))
	}
	return m
}

// Untraced takes this node's own trace fields, a Return-Path and a Received, off a mail that was stored
// with them: what the sender gave remains, and the envelope's sender. False: it has none.
func Untraced(raw []byte) (mailFrom string, sent []byte, ok bool) {
	const path, by = "Return-Path: <", "Received: "
	line, rest, ok := bytes.Cut(raw, []byte(">\r\n"))
	if !ok || !bytes.HasPrefix(line, []byte(path)) || !bytes.HasPrefix(rest, []byte(by)) {
		return "", nil, false
	}
	for mailFrom = string(line[len(path):]); ok; ok = len(rest) > 0 && rest[0] == '\t' {
		if _, rest, ok = bytes.Cut(rest, []byte("\r\n")); !ok {
			return "", nil, false
		}
	}
	return mailFrom, rest, true
}

// own gives subject and from memory of their own, one piece for all.
func own(subject string, from message.Mailbox) (string, message.Mailbox) {
	all := strings.Join([]string{subject, from.Email, from.Name}, "")
	email := all[len(subject):][:len(from.Email)]
	return all[:len(subject)], message.Mailbox{Email: email, Name: all[len(subject)+len(email):]}
}

// For is the command that delivers the mail to one inbox, which rcpts are recipients of.
func (m Mail) For(rcpts ...string) inbox.Receive {
	return inbox.Receive{
		From: m.From, EnvelopeTo: rcpts[0], Named: several(rcpts), Subject: m.Subject, Content: m.Content,
		Raw: m.Raw, TraceLen: m.traceLen, MailFrom: m.mailFrom, Digest: m.Digest,
		Shared: m.shared, Invitations: m.Invitations,
	}
}

// several is a copy of more than one recipient; nil of one.
func several(rcpts []string) []string {
	if len(rcpts) < 2 {
		return nil
	}
	return slices.Clone(rcpts)
}

func read(env Envelope, raw []byte) (*inbox.Content, []*calendar.Invitation) {
	content := &inbox.Content{Auth: env.Verdict.Auth}
	var view html.View
	var calendars []message.Calendar
	if !survive(raw, func() {
		failpoint(raw)
		view, calendars = message.ParseView(&content.Doc, raw)
	}) {
		content.Doc, calendars = message.Document{Degraded: true}, nil // not a half of it
	}
	survive(raw, func() { content.OTP = code(raw, &content.Doc, &view, env.Verdict) })
	invited := invitations(env, raw, &content.Doc, calendars)
	showAuth(&content.Doc, &content.Auth)
	return content, invited
}

// Reread is the content of a message of which only kept was stored beside its raw bytes.
func Reread(kept *inbox.Content, raw []byte) *inbox.Content {
	content := *kept
	content.Doc, content.Unread = document(raw), false
	showAuth(&content.Doc, &content.Auth)
	return &content
}

// document parses raw. What a panic leaves is an empty document, marked as degraded.
func document(raw []byte) message.Document {
	doc := message.Document{Degraded: true}
	var calendars []message.Calendar
	survive(raw, func() {
		failpoint(raw)
		var read message.Document
		calendars = message.ParseCalendars(&read, raw)
		doc = read
	})
	invitations(Envelope{}, raw, &doc, calendars) // for the links and the mark that it may leave
	return doc
}

// survive runs a part of reading raw that strangers' bytes may make panic; false: it did.
func survive(raw []byte, part func()) (survived bool) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("reading a mail panicked; it is kept raw", "size", len(raw), "err", fault.Panicked(p))
		}
	}()
	part()
	return true
}

func code(raw []byte, doc *message.Document, view *html.View, verdict Verdict) inbox.OTP {
	in := shown(doc, view)
	in.Declared = declaredCodes(raw, doc, verdict)
	r := otp.Find(in)
	return inbox.OTP{
		Code: r.Code, Confidence: r.Confidence, Source: string(r.Source), Origin: r.Origin,
		Candidates: r.Candidates, VerificationLink: r.VerificationLink,
	}
}

// Explain tells what was weighed in the search for the code of a mail, and the least share of an answer.
func Explain(raw []byte) (all []otp.Explained, threshold float64) {
	survive(raw, func() {
		var doc message.Document
		view, _ := message.ParseView(&doc, raw)
		all, threshold = otp.Explain(shown(&doc, &view))
	})
	return all, threshold
}

// shown is what a person would see of a mail, as the search for its code reads it.
func shown(doc *message.Document, view *html.View) otp.Input {
	in := otp.Input{Subject: doc.Subject, Visible: view.Visible, Preview: view.Preview, Alt: view.Alt, Links: doc.Links,
		Answers: doc.InReplyTo != ""}
	for _, a := range view.Anchors {
		in.Anchors = append(in.Anchors, link.Anchor(a))
	}
	if len(view.Unseen) > 0 {
		in.Links = slices.DeleteFunc(slices.Clone(in.Links), func(url string) bool { return slices.Contains(view.Unseen, url) })
	}
	for _, span := range view.Indented {
		in.Indented = append(in.Indented, quote.Span(span))
	}
	if !doc.TextFromHTML {
		in.Text = doc.Text
	}
	return in
}
