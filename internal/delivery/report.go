package delivery

// Action is what a report says happened (RFC 3464 section 2.3.3).
type Action uint8

const (
	ActionUnknown Action = iota
	ActionFailed
	ActionDelayed
	ActionDelivered
	ActionRelayed
	ActionExpanded
)

// Report is a delivery status notification.
type Report struct {
	ReportingMTA string
	MessageID    string // of the mail that came back, without brackets; "" when it is not enclosed
	Standard     bool   // RFC 3464; else read out of prose
	Recipients   []RecipientReport
}

// RecipientReport is what a Report says about one recipient.
type RecipientReport struct {
	Recipient  string // Original-Recipient, else Final-Recipient, without its type
	Final      string // Final-Recipient
	Action     Action
	Status     string // enhanced code "5.1.1"; "" when there was none
	Diagnostic string // in the words of the last server, one line
	RemoteMTA  string
}

// ReadReport reads a report out of a mail; false means that the mail is none. Its cost is
// linear in len(raw), and at most 100 recipients are read.
func ReadReport(raw []byte) (Report, bool) { return Report{}, false }
