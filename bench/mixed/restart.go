package mixed

import (
	"context"
	"fmt"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
	"inboxd/http/client"
)

// RestartOptions shape the load during which the server ends. The tags are for the command line.
type RestartOptions struct {
	Fleet    `embed:""`
	Duration time.Duration `help:"How long the load lasts before each end, and again from it on." default:"5s" least:"250ms"`
	Rounds   int           `help:"Ends by SIGTERM, and as many by kill -9." default:"3" least:"1"`
}

// Validate refuses more messages than there are codes.
func (o RestartOptions) Validate() error { return o.fits(o.lasts(), 1) }

// lasts is how long the load is on: before and after each end, of both kinds.
func (o RestartOptions) lasts() time.Duration { return time.Duration(4*o.Rounds) * o.Duration }

// Restart ends the server under load, by SIGTERM and by kill -9, and starts it again while the fleet goes on: how long
// until the first read, and whether everything that was acknowledged is there.
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
		res := revival{exec: drive.NewRound(), gone: drive.NewLatencies()}
		for round := range opts.Rounds {
			if err := r.endUnderLoad(ctx, fmt.Sprintf("%s %d of %d", ending.name, round+1, opts.Rounds), opts.Duration, ending.end, &res); err != nil {
				return fmt.Errorf("%s, round %d: %w", ending.name, round+1, err)
			}
		}
		bed.Report.Add("start after "+ending.name+" under load to first read", "inboxd", res.exec)
		bed.Report.Results[len(bed.Report.Results)-1].Values = map[string]float64{"ms from its end to the first read, p50": res.gone.Percentiles().P50}
	}
	lasted := time.Since(r.began)
	if err := r.verify(ctx); err != nil {
		return err
	}
	r.report(lasted)
	return nil
}

// revival is how long a server was gone.
type revival struct {
	exec drive.Round      // from its start to the first read
	gone *drive.Latencies // from when it was told to end, or was ended
}

// endUnderLoad lets the fleet work for twice as long, and in the middle ends the server and starts it again.
func (r *run) endUnderLoad(ctx context.Context, name string, half time.Duration, end func() error, res *revival) error {
	return drive.Parallel(ctx, 2, func(ctx context.Context, k int) error {
		if k == 0 {
			return r.phase(ctx, name, 1, 2*half)
		}
		select {
		case <-time.After(half):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return r.endAndStart(ctx, end, res)
	})
}

func (r *run) endAndStart(ctx context.Context, end func() error, res *revival) error {
	r.lives.Add(1)
	r.down.Store(true)
	ended := time.Now()
	if err := end(); err != nil {
		return err
	}
	begun := time.Now()
	if err := r.bed.Server.Again(ctx); err != nil {
		return err
	}
	in := r.agents[0]
	if _, err := bench.NewAPI(r.bed.Server.HTTP, in.Key).Latest(ctx, in.Address, client.LatestQuery{}); err != nil {
		return fmt.Errorf("first read: %w", err)
	}
	res.exec.Record(time.Since(begun))
	res.exec.Elapsed += time.Since(begun)
	res.gone.Record(time.Since(ended))
	r.lives.Add(1) // who connected to what was ending finds out later
	r.down.Store(false)
	return nil
}
