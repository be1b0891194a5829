package smtp

import (
	"slices"
	"sync/atomic"
	"time"

	"inboxd/internal/base/meter"
)

// counters are updated by sessions and the accept loop. Any goroutine may read them.
type counters struct {
	connections    atomic.Uint64
	refused        atomic.Uint64
	timeouts       atomic.Uint64
	accepted       atomic.Uint64
	acceptedOctets atomic.Uint64
	stored         meter.Seconds
	commands       [len(commandNames)]meter.Seconds
	rejected       []atomic.Uint64 // in the order of reasons
}

// commandNames are the commands needed to send a message. All others are counted as the first name.
var commandNames = [...]string{"other", "HELO", "EHLO", "MAIL", "RCPT", "DATA", "BDAT"}

// timed is the command that is being processed.
type timed struct {
	command string
	began   time.Time // zero: no command is timed
}

// answered records the time of the latest command. Its reply may still wait for those of a
// pipelined group.
func (s *session) answered() {
	if s.timed.began.IsZero() {
		return
	}
	s.srv.stats.commands[max(0, slices.Index(commandNames[:], s.timed.command))].Between(s.timed.began, time.Now())
	s.timed = timed{}
}

// Stats is a snapshot of the server's counters. All of them only grow, except Open and BodyBytes.
type Stats struct {
	Connections        uint64            `json:"connections"`          // accepted since start, without refused ones
	Refused            uint64            `json:"refused"`              // connections rejected with 421
	Open               int               `json:"open"`                 // connections now
	Timeouts           uint64            `json:"timeouts"`             // sessions ended because the peer sent nothing
	MailsAccepted      uint64            `json:"mails_accepted"`       // transactions that got a 250 after Receive
	Paced              uint64            `json:"paced"`                // transactions that waited for a slot at MAIL
	MailBytesAccepted  uint64            `json:"mail_bytes_accepted"`  // octets of accepted messages, with trace lines
	Stored             meter.Reading     `json:"stored_seconds"`       // from the end of a message until it is stored or refused
	Commands           []Command         `json:"commands"`             // how long commands took
	BytesReceived      uint64            `json:"bytes_received"`       // octets read from peers, inside TLS
	BodyBytes          int64             `json:"body_bytes"`           // octets that bodies above 64 KiB hold now
	RejectionsByReason map[string]uint64 `json:"rejections_by_reason"` // refused commands and messages; every reason is a key
}

// Command is how long one kind of command took until its reply: measured from its line, or from the
// end of the body that belongs to it.
type Command struct {
	Name    string        `json:"name"`
	Seconds meter.Reading `json:"seconds"`
}

func (c *counters) reject(r *reply) { c.rejected[slices.Index(reasons, r.reason)].Add(1) }

// Stats returns the current values of the counters.
func (s *Server) Stats() Stats {
	c := &s.stats
	st := Stats{
		Connections: c.connections.Load(), Refused: c.refused.Load(), Open: s.open(),
		Timeouts: c.timeouts.Load(), MailsAccepted: c.accepted.Load(), Paced: s.pace.waited(),
		MailBytesAccepted: c.acceptedOctets.Load(), Stored: c.stored.Read(), BytesReceived: s.lines.Octets.Load(),
		BodyBytes:          s.budget.total(),
		RejectionsByReason: make(map[string]uint64, len(reasons)),
	}
	for i, name := range commandNames {
		st.Commands = append(st.Commands, Command{name, c.commands[i].Read()})
	}
	for i, name := range reasons {
		st.RejectionsByReason[name] = c.rejected[i].Load()
	}
	return st
}
