// Package toolcalls loads the tool server: how soon a waiting tool hands out a code, how many calls
// one client makes, how soon a new process answers, and what clients that wait weigh. Each figure
// stands next to the same thing done by the plain calls of the public client, in the same run.
//
// It knows the wire of the Model Context Protocol, as a client does, and the service as package bench
// does. It refuses to know the SDK that the tool server is made of.
package toolcalls

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
	"inboxd/http/client"
)

// Options shape the load. The tags are for the command line.
type Options struct {
	Program     string        `name:"inbox-mcp" help:"The inbox-mcp binary to start. Default: ./bin/inbox-mcp, else it is built from ./cmd/inbox-mcp." type:"path"`
	Messages    int           `help:"Messages for each kind of reader, one at a time, each kind to an inbox of its own." default:"1000" least:"1"`
	Rounds      int           `help:"Turns of each kind of caller." default:"5" least:"1"`
	Duration    time.Duration `help:"Measured time per caller of list_inboxes, over all rounds." default:"5s" least:"1ms"`
	Starts      int           `help:"Processes that are started, one after the other." default:"20" least:"1"`
	Connections int           `help:"HTTP clients that wait at once." default:"100" least:"1"`
	Calls       int           `help:"Calls that are made while they wait." default:"1000" least:"1"`
	Settle      time.Duration `help:"How long nothing happens before memory is looked at." default:"2s" least:"0"`
}

const (
	listed = 10 // inboxes of the account while lists are measured
	// What is promised of the tool server.
	wantWaitMS, wantWaitRatio = 5, 2.0
	wantStdio, wantHTTP       = 0.3, 0.2
	wantStartMS               = 150
	wantMiB, wantGrowthMiB    = 100, 10
	waitFor                   = 50 // seconds that a wait asks for
)

// load is one run.
type load struct {
	bed     *bench.Bed
	opts    Options
	path    string
	api     *client.Client
	program *program // that serves over HTTP
	url     string
}

// Run does all of it.
func Run(ctx context.Context, bed *bench.Bed, opts Options) (err error) {
	l := &load{bed: bed, opts: opts, api: client.New(drive.BaseURL(bed.Server.HTTP), bed.Keys[0])}
	if l.path, err = bed.Program(ctx, "inbox-mcp", opts.Program); err != nil {
		return err
	}
	if l.program, l.url, err = startHTTP(bed, l.path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.program.Close()) }()
	for _, part := range []func(context.Context) error{l.start, l.wait, l.list, l.weigh} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start measures from exec to the first answer of tools/list.
func (l *load) start(ctx context.Context) error {
	r := drive.NewRound()
	began := time.Now()
	for range l.opts.Starts {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		from := time.Now()
		s, err := startStdio(l.bed, l.path)
		if err != nil {
			return err
		}
		r.Record(time.Since(from))
		if err := s.Close(); err != nil {
			return err
		}
	}
	r.Elapsed = time.Since(began)
	l.bed.Report.Add("exec to tools/list", "inbox-mcp", r)
	l.bed.Report.Promised("exec to tools/list, p50 in ms", l.last().Latency.P50, wantStartMS, true)
	return nil
}

func (l *load) last() drive.Result { return l.bed.Report.Results[len(l.bed.Report.Results)-1] }

// list compares list_inboxes of one client with the API call that it makes.
func (l *load) list(ctx context.Context) error {
	for have, err := l.inboxes(ctx); have < listed || err != nil; have, err = l.inboxes(ctx) {
		if err != nil {
			return err
		}
		if _, err := l.inbox(ctx); err != nil {
			return err
		}
	}
	pipes, err := startStdio(l.bed, l.path)
	if err != nil {
		return err
	}
	defer pipes.Close()
	web := newHTTP(l.url)
	defer web.Close()
	byTool := func(c caller) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.call(ctx, "list_inboxes", map[string]any{})
			return err
		}
	}
	byAPI := func(ctx context.Context) error {
		_, err := l.inboxes(ctx)
		return err
	}
	for _, kind := range []struct {
		name string
		c    caller
		want float64
	}{{"stdio", pipes, wantStdio}, {"http", web, wantHTTP}} {
		results, err := drive.Alternate(ctx, "list_inboxes", l.opts.Rounds, l.side("tool by "+kind.name, byTool(kind.c)), l.side("API call", byAPI))
		if err != nil {
			return err
		}
		l.bed.Report.Compare(results)
		l.bed.Report.Promised("list_inboxes by "+kind.name+", rate to the API's", l.bed.Report.Ratios[len(l.bed.Report.Ratios)-1].Median, kind.want, false)
	}
	return nil
}

// inbox makes one and returns its address.
func (l *load) inbox(ctx context.Context) (string, error) {
	made, err := l.bed.CreateInboxes(ctx, l.bed.Keys[:1], 1, 1)
	if err != nil {
		return "", err
	}
	return made[0].Address, nil
}

// inboxes lists them by the plain client and returns how many there are.
func (l *load) inboxes(ctx context.Context) (n int, err error) {
	for _, err := range l.api.Inboxes(ctx) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// side calls again and again for a turn.
func (l *load) side(target string, call func(context.Context) error) drive.Side {
	return drive.Side{Target: target, Run: func(ctx context.Context, _ int) (drive.Round, error) {
		r := drive.NewRound()
		began := time.Now()
		for r.Elapsed < l.opts.Duration/time.Duration(l.opts.Rounds) && ctx.Err() == nil {
			from := time.Now()
			if err := call(ctx); err != nil {
				return r, err
			}
			r.Record(time.Since(from))
			r.Elapsed = time.Since(began)
		}
		return r, context.Cause(ctx)
	}}
}

// weigh measures what clients that wait cost the tool server and the service.
func (l *load) weigh(ctx context.Context) error {
	addresses := make([]string, l.opts.Connections)
	for i := range addresses {
		address, err := l.inbox(ctx)
		if err != nil {
			return err
		}
		addresses[i] = address
	}
	// Bare long polls go before, so that what many connections leave in the service's memory is there already.
	bare, err := l.polled(ctx, addresses)
	if err != nil {
		return err
	}
	service, err := l.bed.Server.ResidentMiB()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(addresses))
	for _, address := range addresses {
		c := newHTTP(l.url)
		go func() { // ends by the message, or when ctx is over
			defer c.Close()
			_, err := c.call(ctx, "wait_for_message", map[string]any{"address": address, "timeout": waitFor})
			ended <- err
		}()
	}
	time.Sleep(l.opts.Settle)
	served, err := l.bed.Server.ResidentMiB()
	waiting, grown, err2 := l.whileTheyWait(ctx)
	if err = errors.Join(err, err2); err == nil {
		err = l.wake(ctx, addresses)
	}
	if err != nil {
		cancel()
	}
	for range addresses {
		err = errors.Join(err, <-ended)
	}
	cancel()
	if err != nil {
		return err
	}
	l.bed.Report.Results = append(l.bed.Report.Results, drive.Result{Name: "waiting over HTTP", Target: "inbox-mcp", Count: int64(len(addresses)), Values: map[string]float64{
		"MiB of inbox-mcp": waiting, fmt.Sprintf("MiB more after %d calls", l.opts.Calls): grown - waiting, "KiB of inboxd for each": (served - service) * 1024 / float64(len(addresses)),
		"KiB of inboxd for each bare long poll": bare,
	}})
	l.bed.Report.Promised(fmt.Sprintf("MiB of inbox-mcp with %d clients that wait", len(addresses)), waiting, wantMiB, true)
	l.bed.Report.Promised("MiB more after the calls", grown-waiting, wantGrowthMiB, true)
	return nil
}

// polled returns what a bare long poll weighs in the service, in KiB: as many as will wait by the tool,
// which end by themselves.
func (l *load) polled(ctx context.Context, addresses []string) (each float64, err error) {
	time.Sleep(l.opts.Settle)
	before, err := l.bed.Server.ResidentMiB()
	if err != nil {
		return 0, err
	}
	own := *l.api
	own.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(addresses)}}
	defer own.HTTP.CloseIdleConnections()
	ended := make(chan error, len(addresses))
	for _, address := range addresses {
		go func() { // ends by the long poll's own end
			_, err := own.Latest(ctx, address, client.LatestQuery{Wait: (l.opts.Settle + 2*time.Second).Truncate(time.Second)})
			ended <- err
		}()
	}
	time.Sleep(l.opts.Settle)
	during, err := l.bed.Server.ResidentMiB()
	for range addresses {
		err = errors.Join(err, <-ended)
	}
	return (during - before) * 1024 / float64(len(addresses)), err
}

// whileTheyWait returns the tool server's memory before the calls and after them.
func (l *load) whileTheyWait(ctx context.Context) (before, after float64, err error) {
	if before, err = drive.ResidentMiB(l.program.cmd.Process.Pid); err != nil {
		return before, 0, err
	}
	c := newHTTP(l.url)
	defer c.Close()
	for range l.opts.Calls {
		if _, err := c.call(ctx, "list_inboxes", map[string]any{}); err != nil {
			return before, 0, err
		}
	}
	time.Sleep(l.opts.Settle)
	after, err = drive.ResidentMiB(l.program.cmd.Process.Pid)
	return before, after, err
}
