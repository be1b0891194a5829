package smtp

import (
	"fmt"
	"slices"

	"inboxd/internal/base/fault"
)

// refusalReasons are the labels under which refusals are counted.
var refusalReasons = []string{
	"protocol", "address", "no_inbox", "policy", "inbox_full", "storage_full",
	"unavailable", "too_large", "invalid", "loop", "broken", "slow", "overload",
}

// smtpReply is a reply to a command. It is immutable.
type smtpReply struct {
	code          int
	enhancedCode  [3]int // RFC 3463
	text          string
	refusalReason string // one of reasons; counted only for a refusal
}

func newReply(reason string, code, subject, detail int, text string) *smtpReply {
	if !slices.Contains(refusalReasons, reason) {
		panic("no reason to count a reply under: " + reason)
	}
	return &smtpReply{code, [3]int{code / 100, subject, detail}, text, reason}
}

func (r *smtpReply) Error() string     { return r.text }
func (r *smtpReply) isTemporary() bool { return r.code/100 == 4 }

func (r *smtpReply) formatLine() []byte {
	return fmt.Appendf(nil, "%d %d.%d.%d %s\r\n", r.code, r.enhancedCode[0], r.enhancedCode[1], r.enhancedCode[2], r.text)
}

// Replies of the SMTP protocol itself. Replies to faults are in faultReplies.
var (
	replyBusy        = newReply("protocol", 421, 7, 0, "Too many connections, try again later")
	replyShutdown    = newReply("protocol", 421, 3, 2, "Shutting down, try again later")
	replyIdle        = newReply("protocol", 421, 4, 2, "Idle timeout, closing")
	replySlow        = newReply("slow", 421, 4, 2, "The message arrived too slowly, closing")
	replyBroken      = newReply("broken", 421, 4, 2, "The message is incomplete, closing")
	replyErrors      = newReply("protocol", 421, 7, 0, "Too many errors, closing")
	replyInternal    = newReply("protocol", 421, 3, 0, "Internal error, closing")
	replyLongLine    = newReply("protocol", 500, 5, 6, "Command line too long, closing")
	replyCommand     = newReply("protocol", 500, 5, 2, "Unknown command")
	replyControl     = newReply("protocol", 501, 5, 2, "Control or non-ASCII character in a command")
	replyWeb         = newReply("protocol", 500, 5, 2, "This is a mail server and does not support HTTP, closing")
	replyArgument    = newReply("protocol", 501, 5, 4, "Malformed argument")
	replyChunkSize   = newReply("protocol", 501, 5, 4, "Malformed chunk size, closing")
	replySequence    = newReply("protocol", 503, 5, 1, "Bad sequence of commands")
	replyGreet       = newReply("protocol", 503, 5, 1, "Send EHLO or HELO first")
	replyNoMail      = newReply("protocol", 503, 5, 1, "Send MAIL first")
	replySecure      = newReply("protocol", 503, 5, 1, "TLS is already in use")
	replyNoRcpt      = newReply("protocol", 503, 5, 1, "No valid recipient, send RCPT first")
	replyStartTLS    = newReply("protocol", 220, 0, 0, "Ready to start TLS")
	replyChunk       = newReply("protocol", 250, 0, 0, "Chunk received")
	replyTooLarge    = newReply("too_large", 552, 3, 4, "Message exceeds the maximum size of this server")
	replyOverload    = newReply("overload", 451, 3, 2, "Too much mail at once, try again later")
	replyLoop        = newReply("loop", 554, 4, 6, "Too many Received fields, the message is in a loop")
	replyBadRcpt     = newReply("address", 553, 1, 3, "Invalid address")
	replyBadSender   = newReply("address", 553, 1, 7, "Invalid address")
	replyNonASCII    = newReply("address", 553, 6, 7, "Non-ASCII address requires SMTPUTF8")
	replyUnavailable = newReply("unavailable", 451, 3, 0, "Temporary failure, try again later")
)

// faultReplies is the only table from a fault's kind to its reply. A missing kind, such as
// Internal, gets replyUnavailable: a bug of ours must not bounce a message.
var faultReplies = map[fault.ErrorKind]*smtpReply{
	fault.NoInbox:                newReply("no_inbox", 550, 1, 1, "No such inbox"),
	fault.NotFound:               newReply("no_inbox", 550, 1, 1, "No such inbox"),
	fault.Forbidden:              newReply("policy", 550, 7, 1, "Not permitted"),
	fault.Refused:                newReply("policy", 550, 7, 1, "Refused"),
	fault.InvalidRequest:         newReply("invalid", 550, 6, 0, "Message cannot be read"),
	fault.TooLarge:               replyTooLarge,
	fault.TooMany:                newReply("policy", 450, 7, 1, "Too many messages, try again later"),
	fault.InboxFull:              newReply("inbox_full", 452, 2, 2, "Inbox is full"),
	fault.StorageFull:            newReply("storage_full", 452, 3, 1, "Insufficient storage, try again later"),
	fault.TemporarilyUnavailable: replyUnavailable,
	fault.MovedAway:              replyUnavailable,
}

// replyTo returns the reply for err. The text is fixed: it never contains the error's own text.
func replyTo(err error) *smtpReply {
	if r := faultReplies[fault.KindOf(err)]; r != nil {
		return r
	}
	return replyUnavailable
}
