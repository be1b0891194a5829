package smtp

import (
	"slices"
	"sync/atomic"
	"time"

	"inboxd/internal/base/meter"
)

// counters are moved by sessions and the accept loop, and read by anybody.
type counters struct {
	connections    atomic.Uint64
	refused        atomic.Uint64
	timeouts       atomic.Uint64
	accepted       atomic.Uint64
	acceptedOctets atomic.Uint64
	stored         meter.Seconds
	commands       [len(commandNames)]meter.Seconds
	rejected       []atomic.Uint64 // as reasons
}

// commandNames are the commands that a mail takes; all others are told together, as the first.
var commandNames = [...]string{"other", "HELO", "EHLO", "MAIL", "RCPT", "DATA", "BDAT"}

// timed is the command that is being answered.
type timed struct {
	command string
	began   time.Time // zero: none that is timed
}

// answered counts the time of the command that was answered last. Its answer may still wait for those
// of a pipelined group.
func (s *session) answered() {
	if s.timed.began.IsZero() {
		return
	}
	s.srv.stats.commands[max(0, slices.Index(commandNames[:], s.timed.command))].Between(s.timed.began, time.Now())
	s.timed = timed{}
}

// Stats is a reading of the server's counters; each only grows, but Open.
type Stats struct {
	Connections        uint64            `json:"connections"`          // accepted since start, refused ones not counted
	Refused            uint64            `json:"refused"`              // connections turned away at the door (421)
	Open               int               `json:"open"`                 // connections now
	Timeouts           uint64            `json:"timeouts"`             // sessions ended because the peer said nothing
	MailsAccepted      uint64            `json:"mails_accepted"`       // transactions answered with 250 after Receive
	Paced              uint64            `json:"paced"`                // transactions that waited for their turn at MAIL
	MailBytesAccepted  uint64            `json:"mail_bytes_accepted"`  // octets of those, trace lines included
	Stored             meter.Reading     `json:"stored_seconds"`       // from the final dot of a mail to its commit, or to its refusal
	Commands           []Command         `json:"commands"`             // how long they took
	BytesReceived      uint64            `json:"bytes_received"`       // octets read from peers, inside TLS
	BodyBytes          int64             `json:"body_bytes"`           // octets that bodies above 64 KiB hold now
	RejectionsByReason map[string]uint64 `json:"rejections_by_reason"` // refused commands and messages; every reason is a key
}

// Command is how long the answers to one kind of command took: from its line, or from the end of the
// body that belongs to it.
type Command struct {
	Name    string        `json:"name"`
	Seconds meter.Reading `json:"seconds"`
}

func (c *counters) reject(r *reply) { c.rejected[slices.Index(reasons, r.reason)].Add(1) }

// Stats reads the counters.
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
