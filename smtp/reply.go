package smtp

import (
	"fmt"

	gosmtp "github.com/emersion/go-smtp"

	"inboxd/internal/fault"
)

// A reply is go-smtp's error type, used for every answer of ours, 250 included.
type reply = gosmtp.SMTPError

func newReply(code, class, subject, detail int, text string) *reply {
	return &reply{Code: code, EnhancedCode: gosmtp.EnhancedCode{class, subject, detail}, Message: text}
}

func appendReply(b []byte, r *reply) []byte {
	return fmt.Appendf(b, "%d %d.%d.%d %s\r\n",
		r.Code, r.EnhancedCode[0], r.EnhancedCode[1], r.EnhancedCode[2], r.Message)
}

// Replies that SMTP itself calls for; those to a fault are in faultReplies.
var (
	replyBusy        = newReply(421, 4, 7, 0, "Too many connections, try again later")
	replyShutdown    = newReply(421, 4, 3, 2, "Shutting down, try again later")
	replyIdle        = newReply(421, 4, 4, 2, "Nothing heard for too long, closing")
	replySlow        = newReply(421, 4, 4, 2, "The message came too slowly, closing")
	replyBroken      = newReply(421, 4, 4, 2, "The message did not arrive whole, closing")
	replyErrors      = newReply(421, 4, 7, 0, "Too many errors, closing")
	replyInternal    = newReply(421, 4, 3, 0, "Something went wrong here, closing")
	replyLongLine    = newReply(500, 5, 5, 6, "Command line too long, closing")
	replyCommand     = newReply(500, 5, 5, 2, "Not a command")
	replyControl     = newReply(501, 5, 5, 2, "Control or non-ASCII character in a command")
	replyArgument    = newReply(501, 5, 5, 4, "Malformed argument")
	replyChunkSize   = newReply(501, 5, 5, 4, "Malformed chunk size, closing")
	replySequence    = newReply(503, 5, 5, 1, "Not at this point of a transaction")
	replyNoRcpt      = newReply(503, 5, 5, 1, "MAIL and RCPT come first")
	replyStartTLS    = newReply(220, 2, 0, 0, "Ready to start TLS")
	replyChunk       = newReply(250, 2, 0, 0, "Chunk received")
	replyTooLarge    = newReply(552, 5, 3, 4, "Message is larger than this server takes")
	replyOverload    = newReply(451, 4, 3, 2, "Too much mail at once, try again later")
	replyLoop        = newReply(554, 5, 4, 6, "Too many Received lines, this mail is going round in circles")
	replyBadRcpt     = newReply(553, 5, 1, 3, "Not an address that mail can be sent to")
	replyBadSender   = newReply(553, 5, 1, 7, "Not an address that mail can be sent to")
	replyNonASCII    = newReply(553, 5, 6, 7, "Address is not ASCII and SMTPUTF8 was not asked for")
	replyUnavailable = newReply(451, 4, 3, 0, "Could not be done now, try again later")
)

// faultReplies is the one table from a fault's kind to its reply. A kind that is missing,
// Internal above all, gets replyUnavailable: a bug of ours must not bounce somebody's mail.
var faultReplies = map[fault.Kind]*reply{
	fault.NoInbox:     newReply(550, 5, 1, 1, "No such inbox"),
	fault.NotFound:    newReply(550, 5, 1, 1, "No such inbox"),
	fault.Forbidden:   newReply(550, 5, 7, 1, "Not permitted"),
	fault.Refused:     newReply(550, 5, 7, 1, "Refused"),
	fault.Invalid:     newReply(550, 5, 6, 0, "Message cannot be read"),
	fault.TooLarge:    replyTooLarge,
	fault.TooMany:     newReply(450, 4, 7, 1, "Too many mails, try again later"),
	fault.InboxFull:   newReply(452, 4, 2, 2, "Inbox is full"),
	fault.StorageFull: newReply(452, 4, 3, 1, "No room left here, try again later"),
	fault.Unavailable: replyUnavailable,
}

// repliesByReason names the replies that are counted under a reason of their own.
var repliesByReason = map[string][]*reply{
	"address":      {replyBadRcpt, replyBadSender, replyNonASCII},
	"no_inbox":     {faultReplies[fault.NoInbox], faultReplies[fault.NotFound]},
	"policy":       {faultReplies[fault.Forbidden], faultReplies[fault.Refused], faultReplies[fault.TooMany]},
	"inbox_full":   {faultReplies[fault.InboxFull]},
	"storage_full": {faultReplies[fault.StorageFull]},
	"unavailable":  {replyUnavailable},
	"too_large":    {replyTooLarge},
	"invalid":      {faultReplies[fault.Invalid]},
	"loop":         {replyLoop},
	"broken":       {replyBroken},
	"slow":         {replySlow},
	"overload":     {replyOverload},
}

// replyTo returns the reply for err. Its text is fixed: no error's own words go out.
func replyTo(err error) *reply {
	if r := faultReplies[fault.KindOf(err)]; r != nil {
		return r
	}
	return replyUnavailable
}
