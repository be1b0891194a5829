package mixed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
)

// run is one load: the fleet, its options, and what was measured.
type run struct {
	bed   *bench.Bed
	fleet Fleet

	web, smtp string // where the server is

	agents   []bench.Inbox
	requests [][]byte // the poll of each agent
	phases   []time.Duration
	template *drive.Template
	text     string // of a message that is sent
	listener *listener
	ledger   *ledger

	began                          time.Time
	polls, messages, sends, events *drive.Stream
	messagesBegun, sendsBegun      atomic.Int64 // numbers given out
	up                             atomic.Int64 // UnixNano of the last restart: 0 is never, MaxInt64 while the server is down
}

// prepare makes the inboxes and the webhooks.
func prepare(ctx context.Context, bed *bench.Bed, fleet Fleet) (_ *run, err error) {
	if bed.Server.Attached() {
		fleet.Sends = 0 // they would go to strangers
		bed.Report.Notes = append(bed.Report.Notes, "Sends and webhooks need a server of its own.")
	}
	r := &run{bed: bed, fleet: fleet, web: bed.Server.HTTP, smtp: bed.Server.SMTP, ledger: newLedger(), template: drive.SignInMail(time.Now(), fleet.Size),
		text: strings.Repeat("A line of a message that is sent to somebody else, of ordinary length.\n", 8)}
	r.agents, err = bed.CreateInboxes(ctx, bed.Keys, fleet.Agents)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, uint64(fleet.Agents))) // the same phases each time
	for _, in := range r.agents {
		r.requests = append(r.requests, drive.BuildRequest("GET", drive.LatestPath(in.Address, 0, 0), r.web, drive.KeyHeader(in.Key), nil))
		r.phases = append(r.phases, time.Duration(rng.Int64N(int64(fleet.Every))))
	}
	r.begin()
	if !bed.Server.Attached() {
		if r.listener, err = listen(ctx, r); err != nil {
			r.close()
			return nil, err
		}
	}
	err = bed.Server.Proc.Settle(ctx)
	r.begin() // the clock of the timeline
	return r, err
}

// begin starts the clock of the streams.
func (r *run) begin() {
	r.began = time.Now()
	stream := func(name string) *drive.Stream { return drive.NewStream(name, "inboxd", r.began) }
	r.polls, r.messages, r.sends = stream("polls, due to response"), stream("messages, due to 250"), stream("sends, due to 202")
	r.events = stream("events, final dot to webhook")
}

func (r *run) close() { r.listener.close() }

// streams are those in which something is asked for.
func (r *run) streams() []*drive.Stream {
	all := []*drive.Stream{r.polls, r.messages}
	if r.listener != nil {
		all = append(all, r.events)
	}
	if r.fleet.Sends > 0 {
		all = append(all, r.sends)
	}
	return all
}

// report appends all streams.
func (r *run) report(lasted time.Duration) {
	for _, s := range r.streams() {
		r.bed.Report.Results = append(r.bed.Report.Results, s.Result(lasted))
		r.bed.Report.Timelines = append(r.bed.Report.Timelines, s.Timeline())
	}
}

// pace is one phase of the load, at a multiple of what the fleet does.
type pace struct {
	start, end time.Time
	factor     float64
}

// worker goes on until its pace ends.
type worker func(ctx context.Context, p pace, k, all int) error

// phase puts the load on for a time. Beyond an ordinary day more connections carry it, since more
// of them wait.
func (r *run) phase(ctx context.Context, name string, factor float64, lasts time.Duration) error {
	p := pace{start: time.Now(), factor: factor}
	p.end = p.start.Add(lasts)
	stop := r.showProgress(ctx, name, p)
	defer stop()
	var kinds []worker
	var each []int
	add := func(w worker, n int) { kinds, each = append(kinds, w), append(each, n) }
	add(r.pollAgents, min(int(float64(r.fleet.Connections)*max(factor, 1)), len(r.agents), maxConnections))
	add(r.deliverMessages, min(int(float64(r.fleet.Sessions)*max(factor, 1)), maxSessions))
	if r.fleet.Sends > 0 {
		add(r.sendMessages, sendConns)
	}
	return drive.Parallel(ctx, len(kinds), func(ctx context.Context, kind int) error {
		return drive.Parallel(ctx, each[kind], func(ctx context.Context, k int) error { return kinds[kind](ctx, p, k, each[kind]) })
	})
}

const (
	maxConnections = 4_000
	maxSessions    = 500
	sendConns      = 16
)

// showProgress shows the last second of the streams, each second, until stop.
func (r *run) showProgress(ctx context.Context, name string, p pace) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	all := p.end.Sub(p.start)
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done(): // one last time
			case <-tick.C:
			}
			for _, s := range r.streams() {
				last, _ := s.Last()
				drive.ShowProgress(ctx, drive.Moment{Name: name + ": " + s.Name, Done: min(time.Since(p.start), all).Seconds(), All: all.Seconds(), Says: last.String()})
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// countResponse counts a response of the API: right, refused as it should be, or wrong.
func (r *run) countResponse(s *drive.Stream, made time.Time, response drive.HTTPResponse, want int, from time.Time) bool {
	switch {
	case response.Status == want:
		s.Record(time.Since(from))
		return true
	case response.Status == 503 && response.Field("retry-after") != "":
		s.Refuse("503 " + drive.DetailOf(response.Body))
	default:
		r.broke(s, made, fmt.Sprintf("status %d, want %d: %s", response.Status, want, drive.DetailOf(response.Body)))
	}
	return false
}

// outgoing is the request of the n-th message that is sent.
func (r *run) outgoing(n int64) []byte {
	in := r.agents[n%int64(len(r.agents))]
	body, _ := json.Marshal(map[string]string{"to": "somebody@receiver.example.test", "subject": subjectOf(n), "body": r.text}) // strings alone: it cannot fail
	return drive.BuildRequest("POST", "/api/v1/inboxes/"+in.Address+"/send", r.web, drive.KeyHeader(in.Key), body)
}

func subjectOf(n int64) string { return fmt.Sprintf("bench-%d", n) }

var errTooMany = errors.New("more messages than there are codes")
