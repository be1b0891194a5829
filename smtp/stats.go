package smtp

import (
	"slices"
	"sync/atomic"
	"time"

	"inboxd/internal/base/meter"
)

// counters are updated by sessions and the accept loop. Any goroutine may read them.
type counters struct {
	connections        atomic.Uint64
	refusedConnections atomic.Uint64
	timeouts           atomic.Uint64
	acceptedMessages   atomic.Uint64
	acceptedOctets     atomic.Uint64
	storeDurations     meter.DurationHistogram
	commandDurations   [len(commandNames)]meter.DurationHistogram
	rejectedByReason   []atomic.Uint64 // in the order of reasons
}

// commandNames are the commands needed to send a message. All others are counted as the first name.
var commandNames = [...]string{"other", "HELO", "EHLO", "MAIL", "RCPT", "DATA", "BDAT"}

// commandTimer is the command that is being processed.
type commandTimer struct {
	command   string
	startedAt time.Time // zero: no command is timed
}

// recordDuration records the time of the latest command. Its reply may still wait for those of a
// pipelined group.
func (s *session) recordDuration() {
	if s.commandTimer.startedAt.IsZero() {
		return
	}
	s.srv.stats.commandDurations[max(0, slices.Index(commandNames[:], s.commandTimer.command))].ObserveBetween(s.commandTimer.startedAt, time.Now())
	s.commandTimer = commandTimer{}
}

// Stats is a snapshot of the server's counters. All of them only grow, except OpenConnections and
// BodyBytes.
type Stats struct {
	Connections        uint64                  `json:"connections"`          // accepted since start, without refused ones
	RefusedConnections uint64                  `json:"refused"`              // connections rejected with 421
	OpenConnections    int                     `json:"open"`                 // connections now
	Timeouts           uint64                  `json:"timeouts"`             // sessions ended because the peer sent nothing
	MailsAccepted      uint64                  `json:"mails_accepted"`       // transactions that got a 250 after Receive
	WaitedTransactions uint64                  `json:"paced"`                // transactions that waited for a slot at MAIL
	MailBytesAccepted  uint64                  `json:"mail_bytes_accepted"`  // octets of accepted messages, with trace lines
	StoreDurations     meter.HistogramSnapshot `json:"stored_seconds"`       // from the end of a message until it is stored or refused
	CommandStats       []CommandTiming         `json:"commands"`             // how long commands took
	BytesReceived      uint64                  `json:"bytes_received"`       // octets read from peers, inside TLS
	BodyBytes          int64                   `json:"body_bytes"`           // octets that bodies above 64 KiB hold now
	RejectionsByReason map[string]uint64       `json:"rejections_by_reason"` // refused commands and messages; every reason is a key
}

// CommandTiming is how long one kind of command took until its reply: measured from its line, or
// from the end of the body that belongs to it.
type CommandTiming struct {
	Name    string                  `json:"name"`
	Seconds meter.HistogramSnapshot `json:"seconds"`
}

func (c *counters) countRejection(r *smtpReply) {
	c.rejectedByReason[slices.Index(refusalReasons, r.refusalReason)].Add(1)
}

// Stats returns the current values of the counters.
func (s *Server) Stats() Stats {
	c := &s.stats
	st := Stats{
		Connections: c.connections.Load(), RefusedConnections: c.refusedConnections.Load(), OpenConnections: s.openCount(),
		Timeouts: c.timeouts.Load(), MailsAccepted: c.acceptedMessages.Load(), WaitedTransactions: s.admissionControl.totalWaited(),
		MailBytesAccepted: c.acceptedOctets.Load(), StoreDurations: c.storeDurations.TakeSnapshot(), BytesReceived: s.lineServer.ReceivedOctets.Load(),
		BodyBytes:          s.memoryBudget.totalHeld(),
		RejectionsByReason: make(map[string]uint64, len(refusalReasons)),
	}
	for i, name := range commandNames {
		st.CommandStats = append(st.CommandStats, CommandTiming{name, c.commandDurations[i].TakeSnapshot()})
	}
	for i, name := range refusalReasons {
		st.RejectionsByReason[name] = c.rejectedByReason[i].Load()
	}
	return st
}
