package delivery

// Receipt is what became of a sent mail at an inbox of this node. It is worded as another
// server would have answered, for the sender need not know where an inbox lives. The zero
// value is NotStored, so that what nobody classified is tried again.
type Receipt uint8

const (
	NotStored Receipt = iota
	Received
	NoSuchInbox
	InboxFull
)

var receipts = [...]struct {
	code           int
	enhanced, text string
}{
	NotStored:   {451, "4.3.0", "451 4.3.0 The mail could not be stored, it is tried again"},
	Received:    {250, "2.0.0", "250 2.0.0 OK"},
	NoSuchInbox: {550, "5.1.1", "550 5.1.1 No such inbox here"},
	InboxFull:   {452, "4.2.2", "452 4.2.2 The recipient's inbox is full"},
}

// Reply words the receipt as an SMTP reply.
func (r Receipt) Reply() (code int, enhanced, text string) {
	return receipts[r].code, receipts[r].enhanced, receipts[r].text
}

// Outcome classifies the receipt as any other reply.
func (r Receipt) Outcome() Outcome { return Classify(receipts[r].code, receipts[r].enhanced) }
