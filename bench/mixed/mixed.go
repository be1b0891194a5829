// Package mixed puts on a server what a fleet of agents does all at once, in an open loop: agents that poll, mail in, mail
// out, and webhooks that are told. What is due is sent when it is due, whatever the server does, and what was accepted is
// asked for afterwards. Run does that at a given rate, Overload at four times what the server can do, Restart while the
// server ends and begins again.
//
// It knows the service as package bench does, and refuses to know any more of it.
package mixed

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
	"inboxd/bench/fakes"
)

// Fleet is who asks for what. The tags are for the command line.
type Fleet struct {
	Agents      int           `help:"Agents, each with an inbox and a phase of its own." default:"20000"`
	Every       time.Duration `help:"How often each asks for its newest mail." default:"2s"`
	Mails       float64       `help:"Mails a second that come in." default:"500"`
	Sends       float64       `help:"Mails a second that agents send; 0 is none." default:"20"`
	Connections int           `help:"Keep-alive connections of the agents." default:"256"`
	Sessions    int           `help:"SMTP sessions." default:"32"`
	Size        int           `help:"Bytes of a mail." default:"2048"`
	Webhooks    bool          `help:"Have a webhook told of each mail; without, and where there is no session to make one, a stream of events." default:"true" negatable:""`
	Within      time.Duration `help:"How long the last event and the last delivery may trail the load." default:"45s"`
}

// Options shape the load. The tags are for the command line.
type Options struct {
	Fleet    `embed:""`
	Duration time.Duration `help:"How long it lasts." default:"60s"`
}

// pollPromise is what is promised of a poll in a fleet's ordinary day.
const pollPromise = 20 // ms, p99

// Validate refuses what makes no fleet.
func (f Fleet) Validate() error {
	return cmp.Or(
		drive.AtLeast(1, map[string]int{"--agents": f.Agents, "--connections": f.Connections, "--sessions": f.Sessions}),
		drive.AtLeast(time.Millisecond, map[string]time.Duration{"--every": f.Every, "--within": f.Within}),
		drive.Rate("--mails", f.Mails),
		drive.AtLeast(0, map[string]float64{"--sends": f.Sends}),
		drive.Size(f.Size))
}

// fits refuses a load whose mails would not all have a code of their own; most is what it asks for, in multiples of the fleet.
func (f Fleet) fits(lasts time.Duration, most float64) error {
	if f.Mails*lasts.Seconds()*most > maxMails {
		return fmt.Errorf("--mails: %.0f a second for %v are more than the %d that have a code of their own", f.Mails*most, lasts, maxMails)
	}
	return nil
}

// affords wants accounts for all sends.
func (f Fleet) affords(bed *bench.Bed, lasts time.Duration, most float64) error {
	if f.Sends*lasts.Seconds()*most > float64(maxSends*len(bed.Keys)) {
		return fmt.Errorf("--sends: %.1f a second for %v are more than a day's of %d accounts: say --accounts", f.Sends*most, lasts, len(bed.Keys))
	}
	return nil
}

// Validate refuses what makes no load.
func (o Options) Validate() error {
	return cmp.Or(o.Fleet.Validate(), drive.AtLeast(time.Second, map[string]time.Duration{"--duration": o.Duration}), o.fits(o.Duration, 1))
}

// maxSends is what an account may send in a day, but for a few.
const maxSends = 9_000

// Hosts are the servers that a load of this package starts beside the one it measures.
type Hosts struct{ sink *fakes.Sink }

// Host starts them and says so to a server of ours; for any other there are none.
func Host(opts *bench.ServerOptions) (h Hosts, err error) {
	if opts.BaseURL != "" {
		return h, nil
	}
	if h.sink, err = fakes.StartSink(); err == nil {
		opts.Beside = append(opts.Beside, "--smarthost", h.sink.Addr)
		opts.ServeArgs = append(opts.ServeArgs, "--webhook-allow=127.0.0.0/8", "--log-level=warn")
	}
	return h, err
}

// Close ends them.
func (h Hosts) Close() error { return h.sink.Close() }

// Run lets the fleet do what it does, for a time, and then asks for all that was accepted.
func Run(ctx context.Context, bed *bench.Bed, hosts Hosts, opts Options) error {
	if err := cmp.Or(opts.Validate(), opts.affords(bed, opts.Duration, 1)); err != nil {
		return err
	}
	r, err := prepare(ctx, bed, hosts, opts.Fleet)
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
