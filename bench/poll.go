package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// PollOptions shape the load of pollers. The tags are for the command line.
type PollOptions struct {
	Inboxes     int           `help:"Inboxes, each with one mail and its code." default:"10000"`
	Connections int           `help:"Keep-alive connections." default:"64"`
	Duration    time.Duration `help:"Measured time per target, over all rounds." default:"10s"`
	Rounds      int           `help:"Turns each target gets." default:"5"`
	Rate        float64       `help:"Requests a second instead of as many as possible; latency then counts from when each was due."`
	Variants    []string      `help:"Ways to ask: account-key and inbox-key on the agent surface, per-inbox (its own surface and key), 304 (account key and a known ETag), tag (account key, by the tag that the mail came to)." default:"account-key,inbox-key,per-inbox,304,tag"`
	Wrk         bool          `help:"Drive both targets with wrk as well, as a cross-check of our own client."`
}

// warmUp bounds the turn before the first that counts: connections, caches, heap size.
const warmUp = time.Second

// setUpConns is how many connections and sessions prepare a load.
const setUpConns = 32

// Poll measures GET /latest with real keys, in each variant, beside a constant answer of the
// same size.
func Poll(ctx context.Context, bed *Bed, opts PollOptions) error {
	err := atLeastOne(map[string]int{"--inboxes": opts.Inboxes, "--connections": opts.Connections, "--rounds": opts.Rounds})
	if err != nil {
		return err
	}
	variants, err := opts.variants()
	if err != nil {
		return err
	}
	mailed, err := mailedInboxes(ctx, bed, opts.Inboxes)
	if err != nil {
		return err
	}
	if err := prepareVariants(ctx, bed, variants, mailed); err != nil {
		return err
	}
	if err := bed.Server.proc.settle(ctx); err != nil {
		return err
	}
	load := bed.Report.Load
	load["inboxes"], load["connections"] = opts.Inboxes, opts.Connections
	load["duration"], load["rounds"], load["rate"] = opts.Duration.String(), opts.Rounds, opts.Rate
	for _, v := range variants {
		if err := pollOne(ctx, bed, v, mailed, opts); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

// pollOne compares one variant with its constant answer.
func pollOne(ctx context.Context, bed *Bed, v pollVariant, mailed []mailedInbox, opts PollOptions) error {
	size, err := meanAnswer(ctx, bed.Server.HTTP, v, mailed)
	if err != nil {
		return err
	}
	bed.Report.Load["bytes_"+v.name] = size
	constant, addr, err := startConstant(ctx, bed.dir, v.status(), size)
	if err != nil {
		return err
	}
	defer constant.stop()
	targets := []pollTarget{
		{"inboxd", bed.Server.HTTP, bed.Server.proc, func(i int, a httpAnswer) error { return v.check(mailed[i], a) }},
		{"constant", addr, constant, func(_ int, a httpAnswer) error { return checkSize(size, v.size(a)) }},
	}
	if err := comparePolls(ctx, bed.Report, v, targets, mailed, opts); err != nil || !opts.Wrk {
		return err
	}
	return compareWrk(ctx, bed, v, targets, mailed, opts)
}

// pollTarget is a server that is polled.
type pollTarget struct {
	name, addr string
	proc       *process // nil when it is not ours
	check      func(request int, answer httpAnswer) error
}

// mailedInbox is an inbox whose newest mail carries a code we know.
type mailedInbox struct {
	Inbox
	code      string
	own, etag string // its own key and the ETag of its newest mail, where a load needs them
}

// lane is the tagged address that the mail came to.
func (m mailedInbox) lane() string { return strings.Replace(m.Address, "@", "+lane@", 1) }

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
		load.to = append(load.to, mailed[i].lane())
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

// meanAnswer is the mean size of what pollers will get, from up to 100 inboxes.
func meanAnswer(ctx context.Context, host string, v pollVariant, mailed []mailedInbox) (int, error) {
	conn, err := dialHTTP(ctx, host)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer interruptOn(ctx, conn.nc)()
	sample, total := min(100, len(mailed)), 0
	for i := range sample {
		answer, err := conn.Do(v.request(host, mailed[i*len(mailed)/sample]))
		if err != nil {
			return 0, err
		}
		total += v.size(answer)
	}
	return total / sample, nil
}

// startConstant runs this program again as the constant server.
func startConstant(ctx context.Context, dir string, status, size int) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, addrs, err := startProcess(ctx, "constant", filepath.Join(dir, "constant.log"),
		self, "constant", "--http", net.JoinHostPort("127.0.0.1", "0"), "--status", strconv.Itoa(status), "--size", strconv.Itoa(size))
	return p, addrs["http"], err
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

func checkSize(want, got int) error {
	if got != want {
		return fmt.Errorf("constant answer has %d bytes, want %d", got, want)
	}
	return nil
}

// comparePolls sends all targets the same requests: it warms each up and then lets them take
// turns.
func comparePolls(ctx context.Context, report *Report, v pollVariant, targets []pollTarget, mailed []mailedInbox, opts PollOptions) error {
	load := httpLoad{requests: make([][]byte, len(mailed)), status: v.status(), conns: opts.Connections, rate: opts.Rate}
	for i, m := range mailed {
		load.requests[i] = v.request(targets[0].addr, m)
	}
	var sides []Side
	for _, t := range targets {
		l := load
		l.addr, l.check, l.duration = t.addr, t.check, opts.Duration/time.Duration(opts.Rounds)
		sides = append(sides, Side{t.name, l.run, t.proc, nil})
		warm := l
		warm.duration = min(l.duration, warmUp)
		if _, err := warm.run(ctx, 0); err != nil {
			return fmt.Errorf("warm-up of %s: %w", t.name, err)
		}
	}
	results, err := Alternate(ctx, "GET /latest "+v.name, opts.Rounds, sides...)
	if err != nil {
		return err
	}
	report.Compare(results)
	return nil
}
