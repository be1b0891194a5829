package bench

import (
	"context"
	"fmt"
	"time"

	"inboxd/bench/drive"
)

// StartOptions shape the start with many inboxes. The tags are for the command line.
type StartOptions struct {
	Inboxes  int `help:"Inboxes the server knows." default:"100000" least:"1" most:"1000000"`
	Messages int `help:"Messages of 2 KB, dealt out over the first inboxes, one each." default:"10000" least:"1"`
	Reads    int `help:"Inboxes read after the first, before memory is looked at again." default:"1000" least:"1"`
	Rounds   int `help:"Starts after SIGTERM, and as many after kill -9 with messages just taken." default:"5" least:"1"`
}

// Start measures a server that knows many inboxes: start to ready line, start to first
// read, and its resident memory. It needs a server of its own, which it stops and kills.
func Start(ctx context.Context, bed *Bed, opts StartOptions) error {
	mailed, err := fillServer(ctx, bed, opts)
	if err != nil {
		return err
	}
	// Before a crash the server takes every inbox's next mail, so that there is something to recover.
	crash := func(round int) error {
		if err := mailEach(ctx, bed.Server.SMTP, mailed, (round+1)*len(mailed)); err != nil {
			return err
		}
		return bed.Server.Kill()
	}
	for _, ending := range []struct {
		name string
		end  func(round int) error
	}{{"SIGTERM", func(int) error { return bed.Server.Stop() }}, {"kill -9", crash}} {
		res := newStartResult("start after " + ending.name)
		for round := range opts.Rounds {
			if err := ending.end(round); err != nil {
				return err
			}
			if err := startOnce(ctx, bed, mailed, opts.Reads, &res); err != nil {
				return fmt.Errorf("start %d after %s: %w", round+1, ending.name, err)
			}
		}
		bed.Report.Results = append(bed.Report.Results, res.result())
	}
	return nil
}

// Validate refuses more messages than inboxes.
func (o StartOptions) Validate() error {
	if o.Messages > o.Inboxes {
		return fmt.Errorf("--messages %d are more than --inboxes %d: an inbox gets one at most", o.Messages, o.Inboxes)
	}
	return nil
}

// fillServer makes the inboxes and the messages, and notes the memory of the server that has
// just taken them all.
func fillServer(ctx context.Context, bed *Bed, opts StartOptions) ([]mailedInbox, error) {
	mailed, err := mailedInboxes(ctx, bed, opts.Messages)
	if err != nil {
		return nil, err
	}
	_, err = bed.CreateInboxes(ctx, bed.Keys, opts.Inboxes-opts.Messages, SetUpConns)
	if err != nil {
		return nil, err
	}
	resident, err := bed.Server.proc.ResidentMiB()
	if err != nil {
		return nil, err
	}
	r := bed.Report
	r.Results = append(r.Results, drive.Result{Name: "after taking them", Target: "inboxd",
		Count: int64(opts.Inboxes), Values: map[string]float64{"resident MiB": resident}})
	return mailed, nil
}

// startResult gathers several starts of one kind.
type startResult struct {
	name      string
	firstRead *drive.Latencies
	starts    int64
	values    map[string][]float64
}

func newStartResult(name string) startResult {
	return startResult{name: name, firstRead: drive.NewLatencies(), values: make(map[string][]float64)}
}

func (r *startResult) note(name string, v float64) { r.values[name] = append(r.values[name], v) }

// result has the time to the first read as its latency, and the median of all else.
func (r *startResult) result() drive.Result {
	values := make(map[string]float64, len(r.values))
	for name, all := range r.values {
		values[name] = drive.Median(all)
	}
	return drive.Result{Name: r.name + " to first read", Target: "inboxd", Count: r.starts,
		Latency: r.firstRead.Percentiles(), Values: values}
}

// startOnce starts the server on its data folder and reads: first one inbox, then reads
// more. Every answer must carry its code.
func startOnce(ctx context.Context, bed *Bed, mailed []mailedInbox, reads int, out *startResult) error {
	begin := time.Now()
	if err := bed.Server.start(ctx); err != nil {
		return err
	}
	out.note("ready ms", time.Since(begin).Seconds()*1000)
	if err := readAll(ctx, bed.Server.HTTP, mailed[len(mailed)/2:][:1]); err != nil {
		return err
	}
	out.firstRead.Record(time.Since(begin))
	out.starts++
	return out.noteMemory(ctx, bed.Server, mailed[:min(reads, len(mailed))])
}

// noteMemory looks at VmRSS after the first read and again after more of them.
func (r *startResult) noteMemory(ctx context.Context, s *Server, mailed []mailedInbox) error {
	first, err := s.proc.ResidentMiB()
	if err != nil {
		return err
	}
	if err := readAll(ctx, s.HTTP, mailed); err != nil {
		return err
	}
	after, err := s.proc.ResidentMiB()
	r.note("resident MiB after the first read", first)
	r.note("resident MiB after all reads", after)
	return err
}

// readAll polls each inbox once and wants its code.
func readAll(ctx context.Context, host string, mailed []mailedInbox) error {
	for _, m := range mailed {
		email, err := m.latest(ctx, host)
		if err != nil {
			return err
		}
		if email.CodeIn() != m.code {
			return fmt.Errorf("latest of %s: code %q, want %q", m.Address, email.CodeIn(), m.code)
		}
	}
	return nil
}
