// Package mixed puts on a server what a fleet of agents does at the same time: they poll, receive
// and send messages, and receive webhooks. The load is an open loop: each operation is sent when it
// is due, whatever the server does. Afterwards the load asks for everything that was accepted. Run
// does that at a given rate, Overload at four times what the server can do, Restart while the server
// ends and starts again.
//
// The package knows the public surfaces only, as package bench does.
package mixed

import (
	"context"
	"fmt"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
)

// Fleet is the agents and what they ask for. The tags are for the command line.
type Fleet struct {
	Agents      int           `help:"Agents, each with an inbox and a phase of its own." default:"20000" least:"1"`
	Every       time.Duration `help:"How often each asks for its newest message." default:"2s" least:"1ms"`
	Mails       float64       `help:"Messages a second that come in." default:"500" above:"0"`
	Sends       float64       `help:"Messages a second that agents send; 0 is none." default:"20" least:"0"`
	Connections int           `help:"Keep-alive connections of the agents." default:"256" least:"1"`
	Sessions    int           `help:"SMTP sessions." default:"32" least:"1"`
	Size        int           `help:"Bytes of a message." default:"2048" least:"1250"`
	Within      time.Duration `help:"How long the last event and the last delivery may trail the load." default:"45s" least:"1ms"`
}

// Options shape the load. The tags are for the command line.
type Options struct {
	Fleet    `embed:""`
	Duration time.Duration `help:"How long it lasts." default:"60s" least:"1s"`
}

// pollPromise is what is promised of a poll in a fleet's ordinary day.
const pollPromise = 20 // ms, p99

// fits refuses a load whose messages would not all have a code of their own; most is what it asks
// for, in multiples of the fleet.
func (f Fleet) fits(lasts time.Duration, most float64) error {
	if f.Mails*lasts.Seconds()*most > drive.Codes {
		return fmt.Errorf("--mails: %.0f a second for %v are more than the %d that have a code of their own", f.Mails*most, lasts, drive.Codes)
	}
	return nil
}

// affords refuses more sends than the accounts have.
func (f Fleet) affords(bed *bench.Bed, lasts time.Duration, most float64) error {
	if f.Sends*lasts.Seconds()*most > float64(maxSends*len(bed.Keys)) {
		return fmt.Errorf("--sends: %.1f a second for %v are more than a day's of %d accounts: use --accounts", f.Sends*most, lasts, len(bed.Keys))
	}
	return nil
}

// Validate refuses more messages than there are codes.
func (o Options) Validate() error { return o.fits(o.Duration, 1) }

// maxSends is what an account may send in a day, but for a few.
const maxSends = 9_000

// Run lets the fleet do what it does, for a time, and then asks for all that was accepted.
func Run(ctx context.Context, bed *bench.Bed, opts Options) error {
	if err := opts.affords(bed, opts.Duration, 1); err != nil {
		return err
	}
	r, err := prepare(ctx, bed, opts.Fleet)
	if err != nil {
		return err
	}
	defer r.close()
	began := time.Now()
	if err := r.phase(ctx, "mixed", 1, opts.Duration); err != nil {
		return err
	}
	lasted := time.Since(began)
	if err := r.verify(ctx); err != nil {
		return err
	}
	r.report(lasted)
	refused := int64(0)
	for _, s := range r.streams() {
		refused += s.Result(lasted).Refused
	}
	bed.Report.Promised("refused of all that was asked for", float64(refused), 0, true)
	if p := r.polls.Result(lasted).Latency; p != nil {
		bed.Report.Promised("polls, p99 in ms", p.P99, pollPromise, true)
	}
	return nil
}
