package delivery

// LocalReceipt is the result of delivering a sent message to an inbox of this node. It is worded as a
// reply of another server, because the sender need not know where an inbox is. The zero value is
// NotStored, so an unclassified result is retried.
type LocalReceipt uint8

// The outcomes of storing a message in an inbox of this server.
const (
	NotStored LocalReceipt = iota
	StoredLocally
	NoSuchInbox
	InboxFull
)

var receiptReplies = [...]struct {
	code           int
	enhanced, text string
}{
	NotStored:     {451, "4.3.0", "451 4.3.0 The message could not be stored and will be retried"},
	StoredLocally: {250, "2.0.0", "250 2.0.0 OK"},
	NoSuchInbox:   {550, "5.1.1", "550 5.1.1 No such inbox here"},
	InboxFull:     {452, "4.2.2", "452 4.2.2 The recipient's inbox is full"},
}

// SMTPReply returns the receipt as an SMTP reply.
func (r LocalReceipt) SMTPReply() (code int, enhanced, text string) {
	return receiptReplies[r].code, receiptReplies[r].enhanced, receiptReplies[r].text
}

// Outcome classifies the receipt like any other reply.
func (r LocalReceipt) Outcome() AttemptOutcome {
	return ClassifyReply(receiptReplies[r].code, receiptReplies[r].enhanced)
}
