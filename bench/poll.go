package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// PollOptions shape the load of pollers. The tags are for the command line.
type PollOptions struct {
	Inboxes     int           `help:"Inboxes, each with one mail and its code." default:"10000"`
	Connections int           `help:"Keep-alive connections." default:"64"`
	Duration    time.Duration `help:"Measured time per target, over all rounds." default:"10s"`
	Rounds      int           `help:"Turns each target gets." default:"5"`
	Rate        float64       `help:"Requests a second instead of as many as possible; latency then counts from when each was due."`
	Wrk         bool          `help:"Drive both targets with wrk as well, as a cross-check of our own client."`
}

// warmUp bounds the turn before the first that counts: connections, caches, heap size.
const warmUp = time.Second

// setUpConns is how many connections and sessions prepare a load.
const setUpConns = 32

// Poll measures GET /latest with real keys beside a constant answer of the same size.
func Poll(ctx context.Context, bed *Bed, opts PollOptions) error {
	err := atLeastOne(map[string]int{"--inboxes": opts.Inboxes, "--connections": opts.Connections, "--rounds": opts.Rounds})
	if err != nil {
		return err
	}
	mailed, err := mailedInboxes(ctx, bed, opts.Inboxes)
	if err != nil {
		return err
	}
	size, err := meanAnswer(ctx, bed, mailed)
	if err != nil {
		return err
	}
	constant, addr, err := startConstant(ctx, bed.dir, size)
	if err != nil {
		return err
	}
	defer constant.stop()
	describeLoad(bed.Report, opts, size)
	loads := pollLoads(bed.Server.HTTP, addr, mailed, size, opts)
	if err := comparePolls(ctx, bed.Report, loads, opts); err != nil || !opts.Wrk {
		return err
	}
	return compareWrk(ctx, bed, addr, mailed, opts)
}

func describeLoad(r *Report, opts PollOptions, size int) {
	r.Load["inboxes"], r.Load["connections"], r.Load["answer_bytes"] = opts.Inboxes, opts.Connections, size
	r.Load["duration"], r.Load["rounds"], r.Load["rate"] = opts.Duration.String(), opts.Rounds, opts.Rate
}

// mailedInbox is an inbox whose newest mail carries a code we know.
type mailedInbox struct {
	Inbox
	code string
}

// mailedInboxes creates n inboxes and sends each one mail.
func mailedInboxes(ctx context.Context, bed *Bed, n int) ([]mailedInbox, error) {
	token := runToken()
	inboxes, err := createInboxes(ctx, bed.Server.HTTP, bed.Keys, n, setUpConns, func(i int) string { return token + strconv.Itoa(i) })
	if err != nil {
		return nil, err
	}
	mailed := make([]mailedInbox, n)
	for i, in := range inboxes {
		mailed[i].Inbox = in
	}
	return mailed, mailEach(ctx, bed.Server.SMTP, mailed, 0)
}

// mailEach sends each inbox one mail, whose codes count from first, and wants every one of
// them accepted.
func mailEach(ctx context.Context, addr string, mailed []mailedInbox, first int) error {
	load := mailLoad{addr: addr, sessions: min(setUpConns, len(mailed)), mails: len(mailed), size: mailSize, first: first}
	for i := range mailed {
		mailed[i].code = load.code(i)
		load.to = append(load.to, mailed[i].Address)
	}
	sent, err := load.run(ctx)
	if err == nil && sent.Count != int64(len(mailed)) {
		err = fmt.Errorf("only %d of %d mails were taken: %s", sent.Count, len(mailed), sent.FirstError)
	}
	if err != nil {
		return fmt.Errorf("one mail for each inbox: %w", err)
	}
	return nil
}

// meanAnswer is the mean length of what pollers will get, from up to 100 inboxes.
func meanAnswer(ctx context.Context, bed *Bed, mailed []mailedInbox) (int, error) {
	conn, err := dialHTTP(ctx, bed.Server.HTTP)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer interruptOn(ctx, conn.nc)()
	sample, total := min(100, len(mailed)), 0
	for i := range sample {
		answer, err := conn.Do(pollRequest(bed.Server.HTTP, mailed[i*len(mailed)/sample].Inbox))
		if err != nil {
			return 0, err
		}
		total += len(answer.Body)
	}
	return total / sample, nil
}

func pollRequest(host string, in Inbox) []byte {
	return buildRequest("GET", latestPath(in.Address, 0, 0), host, keyHeader(in.Key), nil)
}

// startConstant runs this program again as the constant server.
func startConstant(ctx context.Context, dir string, size int) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, addrs, err := startProcess(ctx, "constant", filepath.Join(dir, "constant.log"),
		self, "constant", "--http", net.JoinHostPort("127.0.0.1", "0"), "--size", strconv.Itoa(size))
	return p, addrs["http"], err
}

// pollLoads returns the same requests against the server and against the constant answer.
func pollLoads(server, constant string, mailed []mailedInbox, size int, opts PollOptions) [2]httpLoad {
	requests := make([][]byte, len(mailed))
	for i, m := range mailed {
		requests[i] = pollRequest(server, m.Inbox)
	}
	load := httpLoad{
		requests: requests, conns: opts.Connections, rate: opts.Rate,
		duration: opts.Duration / time.Duration(opts.Rounds),
	}
	real, fixed := load, load
	real.addr, real.check = server, func(i int, body []byte) error { return checkLatest(mailed[i], body) }
	fixed.addr, fixed.check = constant, func(_ int, body []byte) error { return checkSize(size, body) }
	return [2]httpLoad{real, fixed}
}

func checkLatest(want mailedInbox, body []byte) error {
	email, err := parseLatest(body)
	if err != nil {
		return fmt.Errorf("latest of %s: %w", want.Address, err)
	}
	if got := email.code(); got != want.code {
		return fmt.Errorf("latest of %s: code %q, want %q", want.Address, got, want.code)
	}
	return nil
}

func checkSize(want int, body []byte) error {
	if len(body) != want {
		return fmt.Errorf("constant answer has %d bytes, want %d", len(body), want)
	}
	return nil
}

// comparePolls warms both targets up and then lets them take turns.
func comparePolls(ctx context.Context, report *Report, loads [2]httpLoad, opts PollOptions) error {
	for _, l := range loads {
		l.duration = min(l.duration, warmUp)
		if _, err := l.run(ctx, 0); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	results, err := Alternate(ctx, "GET /latest", opts.Rounds,
		Side{"inboxd", loads[0].run}, Side{"constant", loads[1].run})
	if err != nil {
		return err
	}
	report.compare(results)
	return nil
}
