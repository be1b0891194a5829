package mixed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
)

// OverloadOptions shape the load of more than a server can do. The tags are for the command line.
type OverloadOptions struct {
	Fleet    `embed:""`
	Duration time.Duration `help:"How long four times the peak is asked for." default:"15s" least:"2s"`
	Calm     time.Duration `help:"How long a quarter of the peak is asked for, before and after." default:"15s" least:"5s"`
	Step     time.Duration `help:"How long each step lasts that looks for the peak." default:"5s" least:"2s"`
	Peak     float64       `help:"What the server can do at most, in multiples of what the fleet asks for; 0: it is looked for." least:"0"`
}

const (
	overloaded = 4.0 // times the peak
	stepUp     = 1.5 // from one step to the next
	stillMore  = 1.1 // a step that does not do so much more than the best is the last
	mostSteps  = 12
	// The bounds that are promised.
	goodputPromise = 0.8
	backPromise    = 10 // seconds
	backFor        = 3  // as many calm seconds in a row are calm again
)

// Validate refuses more messages than there are codes.
func (o OverloadOptions) Validate() error { return o.fits(o.Duration, o.most()) }

// most is the largest load, in multiples of the fleet, when the peak is given.
func (o OverloadOptions) most() float64 { return overloaded * max(o.Peak, 1) }

// Overload finds the peak of the server, asks for four times that, and then for a quarter of it: it
// measures the right responses, the refusals of the rest, and the time to recover.
func Overload(ctx context.Context, bed *bench.Bed, opts OverloadOptions) error {
	if err := opts.affords(bed, opts.Duration, opts.most()); err != nil {
		return err
	}
	r, err := prepare(ctx, bed, opts.Fleet)
	if err != nil {
		return err
	}
	defer r.close()
	peak, best, err := r.findPeak(ctx, opts)
	if err != nil {
		return err
	}
	calm, err := r.during(ctx, "a quarter of the peak", peak/4, opts.Calm)
	if err != nil {
		return err
	}
	over, err := r.during(ctx, "four times the peak", peak*overloaded, opts.Duration)
	if err != nil {
		return err
	}
	after, err := r.during(ctx, "a quarter of the peak again", peak/4, opts.Calm)
	if err != nil {
		return err
	}
	lasted := time.Since(r.began)
	if err := r.verify(ctx); err != nil {
		return err
	}
	r.report(lasted)
	r.judge(peak, best, calm, over, after)
	return nil
}

// span is the whole seconds of a phase, from to to-1.
type span struct{ from, to int }

func (r *run) during(ctx context.Context, name string, factor float64, lasts time.Duration) (span, error) {
	from := int(time.Since(r.began)/time.Second) + 1
	err := r.phase(ctx, name, factor, lasts)
	return span{from, from + int(lasts/time.Second) - 1}, err
}

// goodput is how many right responses a second there were of all that was asked for.
func (r *run) goodput(s span) (sum float64) {
	for _, stream := range []*drive.Stream{r.polls, r.messages, r.sends} {
		sum += s.rate(stream)
	}
	return sum
}

// rate is how many right responses of one kind there were a second.
func (s span) rate(stream *drive.Stream) (sum float64) {
	for _, second := range s.of(stream) {
		sum += float64(second.Count)
	}
	return sum / float64(max(s.to-s.from, 1))
}

func (s span) of(stream *drive.Stream) []drive.Second {
	all := stream.Timeline().Seconds
	return all[min(s.from, len(all)):min(max(s.to, s.from+1), len(all))]
}

// asked is how much the fleet asks for in a second.
func (f Fleet) asked() float64 { return float64(f.Agents)/f.Every.Seconds() + f.Mails + f.Sends }

// findPeak asks for more and more until no more is done, and returns the best as a multiple of the
// fleet and as responses a second.
func (r *run) findPeak(ctx context.Context, opts OverloadOptions) (peak, best float64, err error) {
	factor := 1.0
	if opts.Peak > 0 {
		factor = opts.Peak
	}
	for range mostSteps {
		s, err := r.during(ctx, fmt.Sprintf("search for the peak, %.2f of the fleet", factor), factor, opts.Step)
		if err != nil {
			return 0, 0, err
		}
		did := r.goodput(s)
		more := did > best*stillMore
		best = max(best, did)
		if !more || opts.Peak > 0 {
			break
		}
		factor *= stepUp
	}
	if best == 0 {
		return 0, 0, errors.New("no response was right while the load looked for the peak")
	}
	if opts.Peak > 0 {
		return opts.Peak, best, nil
	}
	return best / r.fleet.asked(), best, nil
}

// judge sets what was seen next to what is promised.
func (r *run) judge(peak, best float64, calm, over, after span) {
	limit := 0.0
	for _, s := range calm.of(r.polls) {
		limit = max(limit, s.P99)
	}
	did := r.goodput(over)
	back := backAfter(after, r.polls.Timeline().Seconds, limit)
	out := r.bed.Report
	// A message costs much more than a poll, so the sum alone says little about either.
	for i, stream := range []*drive.Stream{r.polls, r.messages} {
		out.Results[i].Values = map[string]float64{
			"a second at a quarter of the peak": calm.rate(stream), "a second at four times the peak": over.rate(stream),
		}
	}
	maps.Copy(out.Results[0].Values, map[string]float64{
		"peak as a multiple of the fleet": peak, "right responses a second at the peak": best,
		"right responses a second at four times the peak": did, "calm p99 in ms, the largest": limit,
	})
	out.Promised("goodput at four times the peak, to the peak's", did/best, goodputPromise, false)
	out.Promised("seconds until polls are as calm as before", float64(back), backPromise, true)
}

// backAfter is how many seconds after the overload the first of some calm seconds in a row begins.
func backAfter(after span, seconds []drive.Second, limit float64) int {
	begin := max(after.from-1, 0)
	inARow := 0
	for n := begin; n < min(after.to, len(seconds)); n++ {
		if seconds[n].P99 > limit || seconds[n].Count == 0 {
			inARow = 0
			continue
		}
		if inARow++; inARow == backFor {
			return n - backFor + 1 - begin
		}
	}
	return after.to - begin
}
