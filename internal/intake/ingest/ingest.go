// Package ingest turns a raw message into the command that an inbox receives: it parses the message
// and searches for a code. It runs on the goroutine of the session that received the message, never
// inside an actor. If a parser panics, only the parsed form of that message is lost. The package
// does not know sessions, actors and the disk.
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

// Envelope is the sender and the recipients of a message (RFC 5321).
type Envelope struct {
	MailFrom string     // empty for the null sender
	RcptTo   []string   // canonical, with their tags
	RemoteIP netip.Addr // invalid if the peer has no IP address
	Helo     string     // as sent by the peer
	// TraceLen is how many bytes at the top of the message are this node's own trace fields. They
	// differ each time the message is offered.
	TraceLen int
	Verdict  AuthVerdict
	// DetermineVerdict determines the verdict on the message of this envelope, within a few
	// seconds; nil if there is nothing to check.
	DetermineVerdict func(ctx context.Context, env Envelope, raw []byte) AuthVerdict
	// StoredEncrypted means that the message is stored only encrypted: no code, links or invitation are
	// searched for.
	StoredEncrypted bool
	// Simulated means that a client wrote the message for a test. It must have a Helo, because it is
	// not from an inbox of this node, and nothing to determine a verdict.
	Simulated bool
	// OnStored is called for each inbox that stored the message, with its id there; nil: not needed.
	OnStored func(inbox string, id int64)
	// SharedStorage is for the recipients of several envelopes with the same bytes; nil: only the
	// recipients of this one share them.
	SharedStorage *inbox.SharedStorage
}

// IncomingMessage is one message, parsed once for all its recipients.
type IncomingMessage struct {
	From    message.Mailbox
	Subject string
	Content *inbox.Content
	Raw     []byte
	Digest  inbox.MessageDigest // zero for a single recipient
	// Invitations are what the message says about meetings, in the order of its file.
	Invitations []*calendar.Invitation
	// OnStored is that of the envelope.
	OnStored func(inbox string, id int64)

	mailFrom      string
	traceLen      int
	sharedStorage *inbox.SharedStorage // nil for a single recipient
}

// ParseMessage parses raw. It always succeeds: if something is invalid, the document is marked as
// degraded.
func ParseMessage(env Envelope, raw []byte) IncomingMessage {
	var content *inbox.Content
	var invited []*calendar.Invitation
	if env.StoredEncrypted {
		content = extractFacts(env, raw)
	} else {
		content, invited = readContent(env, raw)
	}
	content.Simulated = env.Simulated
	m := IncomingMessage{Content: content, Raw: raw, Invitations: invited, OnStored: env.OnStored, mailFrom: env.MailFrom, traceLen: env.TraceLen, sharedStorage: env.SharedStorage}
	// Lists keep these strings longer than the document, whose header strings share one block.
	m.Subject, m.From = copyStrings(content.Doc.Subject, content.Doc.From)
	if m.From.Email == "" {
		m.From.Email = strings.ToValidUTF8(env.MailFrom, "\uFFFD")
	}
	if len(env.RcptTo) > 1 {
		m.Digest = inbox.DigestOf(env.MailFrom, env.RcptTo, raw[env.TraceLen:])
		m.sharedStorage = cmp.Or(m.sharedStorage, new(inbox.SharedStorage))
	}
	return m
}

// Untraced removes this node's own trace fields, a Return-Path and a Received, from a stored
// message. It returns the bytes that the sender transmitted, and the envelope sender. False: there
// are no trace fields.
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

// copyStrings copies subject and from into one new block of memory.
func copyStrings(subject string, from message.Mailbox) (string, message.Mailbox) {
	all := strings.Join([]string{subject, from.Email, from.Name}, "")
	email := all[len(subject):][:len(from.Email)]
	return all[:len(subject)], message.Mailbox{Email: email, Name: all[len(subject)+len(email):]}
}

// ReceiveFor is the command that delivers the message to one inbox, whose recipients are rcpts.
func (m IncomingMessage) ReceiveFor(rcpts ...string) inbox.Receive {
	return inbox.Receive{
		From: m.From, EnvelopeTo: rcpts[0], NamedRecipients: copySeveral(rcpts), Subject: m.Subject, Content: m.Content,
		Raw: m.Raw, TraceLen: m.traceLen, MailFrom: m.mailFrom, Digest: m.Digest,
		SharedStorage: m.sharedStorage, Invitations: m.Invitations,
	}
}

// copySeveral is a copy of more than one recipient; nil for one.
func copySeveral(rcpts []string) []string {
	if len(rcpts) < 2 {
		return nil
	}
	return slices.Clone(rcpts)
}

func readContent(env Envelope, raw []byte) (*inbox.Content, []*calendar.Invitation) {
	content := &inbox.Content{Auth: env.Verdict.Auth}
	var view html.RenderedView
	var calendars []message.CalendarCandidate
	if !survivesPanic(raw, func() {
		failpoint(raw)
		view, calendars = message.ParseView(&content.Doc, raw)
	}) {
		content.Doc, calendars = message.ParsedMessage{IsDegraded: true}, nil // not a partial document
	}
	survivesPanic(raw, func() { content.OTP = findCode(raw, &content.Doc, &view, env.Verdict) })
	invited := readInvitations(env, raw, &content.Doc, calendars)
	showAuth(&content.Doc, &content.Auth)
	return content, invited
}

// RereadContent is the content of a message of which only kept was stored in addition to its raw bytes.
func RereadContent(kept *inbox.Content, raw []byte) *inbox.Content {
	content := *kept
	content.Doc, content.DocumentOmitted = parseDocument(raw), false
	showAuth(&content.Doc, &content.Auth)
	return &content
}

// parseDocument parses raw. If the parser panics, the document is empty and marked as degraded.
func parseDocument(raw []byte) message.ParsedMessage {
	doc := message.ParsedMessage{IsDegraded: true}
	var calendars []message.CalendarCandidate
	survivesPanic(raw, func() {
		failpoint(raw)
		var read message.ParsedMessage
		calendars = message.ParseCalendars(&read, raw)
		doc = read
	})
	readInvitations(Envelope{}, raw, &doc, calendars) // for the links and the mark that it may set
	return doc
}

// survivesPanic runs a part of parsing raw that may panic on strangers' bytes; false: it did.
func survivesPanic(raw []byte, part func()) (survived bool) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("message parser panicked, the message is stored unparsed", "size", len(raw), "err", fault.DescribePanic(p))
		}
	}()
	part()
	return true
}

func findCode(raw []byte, doc *message.ParsedMessage, view *html.RenderedView, verdict AuthVerdict) inbox.OTP {
	in := codeInput(doc, view)
	in.DeclaredCodes = declaredCodes(raw, doc, verdict)
	r := otp.FindCode(in)
	return inbox.OTP{
		Code: r.Code, Confidence: r.Confidence, Source: string(r.Source), Origin: r.Origin,
		Candidates: r.Candidates, VerificationLink: r.VerificationLink,
	}
}

// ExplainCode returns how the search for a message's code came to its answer, without declared codes,
// which need the verdict on the sender.
func ExplainCode(raw []byte) (x otp.Explanation) {
	survivesPanic(raw, func() {
		var doc message.ParsedMessage
		view, _ := message.ParseView(&doc, raw)
		x = otp.ExplainCode(codeInput(&doc, &view))
	})
	return x
}

// codeInput is the visible content of a message, as input of the search for its code.
func codeInput(doc *message.ParsedMessage, view *html.RenderedView) otp.Input {
	in := otp.Input{Subject: doc.Subject, VisibleText: view.VisibleText, PreviewText: view.PreviewText, AltTexts: view.AltTexts, Links: doc.Links,
		IsReply: doc.InReplyTo != ""}
	for _, a := range view.Anchors {
		in.Anchors = append(in.Anchors, link.Anchor(a))
	}
	if len(view.HiddenLinks) > 0 {
		in.Links = slices.DeleteFunc(slices.Clone(in.Links), func(url string) bool { return slices.Contains(view.HiddenLinks, url) })
	}
	for _, span := range view.IndentedSpans {
		in.IndentedSpans = append(in.IndentedSpans, quote.TextSpan(span))
	}
	if !doc.TextFromHTML {
		in.Text = doc.Text
	}
	return in
}
