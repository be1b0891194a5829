package mixed

import (
	"context"
	"fmt"
	"math"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
	"inboxd/http/client"
)

// RestartOptions shape the load during which the server ends. The tags are for the command line.
type RestartOptions struct {
	Fleet    `embed:""`
	Duration time.Duration `help:"How long the load lasts before the server ends, and again from there." default:"5s" least:"250ms"`
	Rounds   int           `help:"Ends by SIGTERM, and as many by kill -9." default:"3" least:"1"`
}

// Validate refuses more messages than there are codes.
func (o RestartOptions) Validate() error { return o.fits(o.lasts(), 1) }

// lasts is the time of the load: before and after each end, of both kinds.
func (o RestartOptions) lasts() time.Duration { return time.Duration(4*o.Rounds) * o.Duration }

// Restart ends the server under load, by SIGTERM and by kill -9, and starts it again while the fleet
// goes on. It measures the time to the first read, and then asks for everything that was accepted.
func Restart(ctx context.Context, bed *bench.Bed, opts RestartOptions) error {
	if err := opts.affords(bed, opts.lasts(), 1); err != nil {
		return err
	}
	r, err := prepare(ctx, bed, opts.Fleet)
	if err != nil {
		return err
	}
	defer r.close()
	for _, ending := range []struct {
		name string
		end  func() error
	}{{"SIGTERM", bed.Server.Stop}, {"kill -9", bed.Server.Kill}} {
		starts, gone := drive.NewRound(), drive.NewLatencies()
		for round := range opts.Rounds {
			name := fmt.Sprintf("%s %d of %d", ending.name, round+1, opts.Rounds)
			err := drive.Parallel(ctx, 2, func(ctx context.Context, k int) error {
				if k == 0 {
					return r.phase(ctx, name, 1, 2*opts.Duration)
				}
				select {
				case <-time.After(opts.Duration):
					return r.endAndStart(ctx, ending.end, &starts, gone)
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		bed.Report.Add("start after "+ending.name+" under load to first read", "inboxd", starts)
		bed.Report.Note("ms from its end to the first read, p50", gone.Percentiles().P50)
	}
	lasted := time.Since(r.began)
	if err := r.verify(ctx); err != nil {
		return err
	}
	r.report(lasted)
	return nil
}

// endAndStart records how long the first read took from the start, and from the end before it.
func (r *run) endAndStart(ctx context.Context, end func() error, starts *drive.Round, gone *drive.Latencies) error {
	r.up.Store(math.MaxInt64)
	ended := time.Now()
	if err := end(); err != nil {
		return err
	}
	begun := time.Now()
	if err := r.bed.Server.Start(ctx); err != nil {
		return err
	}
	in := r.agents[0]
	if _, err := bench.NewAPI(r.web, in.Key).Latest(ctx, in.Address, client.LatestQuery{}); err != nil {
		return fmt.Errorf("first read: %w", err)
	}
	starts.Record(time.Since(begun))
	starts.Elapsed += time.Since(begun)
	gone.Record(time.Since(ended))
	r.up.Store(time.Now().UnixNano())
	return nil
}

// broke counts an operation without its response. On a connection that was made before the server
// was up again, that is a refusal.
func (r *run) broke(s *drive.Stream, made time.Time, reason string) {
	if made.UnixNano() < r.up.Load() {
		s.Refuse("the server had ended: " + reason)
		return
	}
	s.Fail(reason)
}
