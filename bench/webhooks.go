package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/client"
)

// WebhooksOptions shape the load of webhooks. The tags are for the command line.
type WebhooksOptions struct {
	Mails    int           `help:"Mails of each round, dealt out over the inboxes." default:"4000"`
	Rate     float64       `help:"Mails a second; 0 is as many as the server takes." default:"500"`
	Rounds   int           `help:"Rounds, without and with webhooks in turn." default:"3"`
	Inboxes  int           `help:"Inboxes of each of the two accounts." default:"64"`
	Sessions int           `help:"SMTP sessions." default:"16"`
	Size     int           `help:"Bytes of a mail." default:"2048"`
	Hanging  int           `help:"Receivers that take connections and never answer, each told of five events a round." default:"0"`
	Within   time.Duration `help:"How long the last call may trail the last 250." default:"1m"`
}

const (
	maxHanging   = 990
	hangingMails = 5 // each round's events for those that hang
)

// WebhookServeArgs are what a server of ours needs to call receivers on loopback, and to let
// one account have that many.
func WebhookServeArgs() []string {
	return []string{"--webhook-allow=127.0.0.0/8", "--plans=[paid]\nmax_webhooks = 1000\n"}
}

// receiver notes when each code that it expects was told. It shares the cores with what is
// measured, so it is built like the constant answer: what it computes counts as the webhooks'.
type receiver struct {
	server *fasthttp.Server
	url    string

	mu      sync.Mutex
	told    map[string]time.Time // zero: not yet
	missing int
	all     chan struct{} // closed when none is missing any more
	twice   int64
	strange int64  // calls that tell no code that is expected
	example string // the last of them
}

func openReceiver() (*receiver, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + ln.Addr().String() + "/", told: map[string]time.Time{}}
	r.server = &fasthttp.Server{Handler: r.take}
	go r.server.Serve(ln) // until Close
	return r, nil
}

// Close ends all connections but those on which no call ever came, of which fasthttp does not
// know that they are idle: their other ends go with the server that was measured.
func (r *receiver) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.server.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// take notes one call.
func (r *receiver) take(req *fasthttp.RequestCtx) {
	now := time.Now()
	var e struct{ OTP string }
	body := req.PostBody()
	err := json.Unmarshal(body, &e)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch at, expected := r.told[e.OTP]; {
	case err != nil || !expected:
		r.strange++
		r.example = fmt.Sprintf("%.200q %v", body, err)
	case !at.IsZero():
		r.twice++
	default:
		r.told[e.OTP] = now
		if r.missing--; r.missing == 0 {
			close(r.all)
		}
	}
}

// expect opens the receiver for the codes of load, before it runs.
func (r *receiver) expect(load *mailLoad) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing, r.all = load.mails, make(chan struct{})
	for i := range load.mails {
		r.told[load.code(i)] = time.Time{}
	}
}

// wait returns when all that is expected was told.
func (r *receiver) wait(ctx context.Context, within time.Duration) error {
	select {
	case <-r.all:
		return nil
	case <-time.After(within):
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(fmt.Errorf("%d events were not told within %v; %d calls were strange, the last: %s", r.missing, within, r.strange, r.example), context.Cause(ctx))
}

// checks are right when every call told what was expected, once.
func (r *receiver) checks() []Check {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []Check{{"events told twice", 0, r.twice}, {"calls that tell of no mail sent", 0, r.strange}}
}

// Webhooks measures what webhooks cost the mail that they tell of, and how soon they tell:
// the same load to an account without and with a webhook, in turn. With Hanging, receivers
// that never answer are told of the same account's events meanwhile.
func Webhooks(ctx context.Context, bed *Bed, opts WebhooksOptions) error {
	err := atLeastOne(map[string]int{"--mails": opts.Mails, "--rounds": opts.Rounds, "--inboxes": opts.Inboxes, "--sessions": opts.Sessions, "--size": opts.Size})
	if err != nil {
		return err
	}
	if opts.Hanging > maxHanging {
		return fmt.Errorf("--hanging: at most %d", maxHanging)
	}
	load := bed.Report.Load
	load["mails"], load["rate"], load["inboxes"], load["sessions"], load["bytes"], load["hanging"] = opts.Mails, opts.Rate, opts.Inboxes, opts.Sessions, opts.Size, opts.Hanging
	run, err := prepareWebhooks(ctx, bed, opts)
	if err != nil {
		return err
	}
	defer run.close()
	before, _ := bed.Server.ResidentMiB()
	results, err := Alternate(ctx, acceptedName(opts.Rate), opts.Rounds,
		Side{"without webhooks", run.without, bed.Server.proc, nil}, Side{"with webhooks", run.with, bed.Server.proc, nil})
	if err != nil {
		return err
	}
	after, _ := bed.Server.ResidentMiB()
	bed.Report.Compare(results)
	bed.Report.add("final dot to webhook", run.told)
	bed.Report.Results[len(bed.Report.Results)-1].Values = map[string]float64{"resident MiB before": before, "resident MiB after": after}
	bed.Report.Checks = append(bed.Report.Checks, run.receiver.checks()...)
	return nil
}

// ResidentMiB is its VmRSS, and 0 for a server that is not ours.
func (s *Server) ResidentMiB() (float64, error) {
	if s.proc == nil {
		return 0, nil
	}
	return s.proc.residentMiB()
}

// webhooksRun is two accounts' inboxes and the receivers of the second's events.
type webhooksRun struct {
	opts     WebhooksOptions
	smtp     string
	plain    []Inbox
	hooked   []Inbox
	hung     Inbox // its events are told to those that hang
	receiver *receiver
	hanging  []net.Listener
	codes    int
	told     Round
}

func prepareWebhooks(ctx context.Context, bed *Bed, opts WebhooksOptions) (_ *webhooksRun, err error) {
	run := &webhooksRun{opts: opts, smtp: bed.Server.SMTP, told: Round{latency: newLatencies()}}
	defer func() {
		if err != nil {
			run.close()
		}
	}()
	session, key, err := signUpOne(ctx, bed.Server.HTTP)
	if err != nil {
		return nil, err
	}
	token := runToken()
	make := func(prefix, key string, n int) ([]Inbox, error) {
		return createInboxes(ctx, bed.Server.HTTP, []string{key}, n, setUpConns, func(i int) string { return prefix + token + strconv.Itoa(i) })
	}
	if run.plain, err = make("p", bed.Keys[0], opts.Inboxes); err != nil {
		return nil, err
	}
	if run.hooked, err = make("w", key, opts.Inboxes+1); err != nil {
		return nil, err
	}
	run.hung, run.hooked = run.hooked[opts.Inboxes], run.hooked[:opts.Inboxes]
	if run.receiver, err = openReceiver(); err != nil {
		return nil, err
	}
	return run, run.subscribe(ctx, bed.Server.HTTP, session)
}

func (w *webhooksRun) subscribe(ctx context.Context, host, session string) error {
	api := newAPI(host, session)
	if _, _, err := api.CreateWebhook(ctx, client.WebhookOrder{URL: w.receiver.url, Event: "message.received"}); err != nil {
		return err
	}
	for range w.opts.Hanging {
		ln, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the kernel does
		if err != nil {
			return err
		}
		w.hanging = append(w.hanging, ln)
		hook := client.WebhookOrder{URL: "http://" + ln.Addr().String() + "/", Event: "message.received", Inbox: w.hung.Address}
		if _, _, err := api.CreateWebhook(ctx, hook); err != nil {
			return err
		}
	}
	return nil
}

func (w *webhooksRun) close() {
	if w.receiver != nil {
		_ = w.receiver.Close()
	}
	for _, ln := range w.hanging {
		_ = ln.Close()
	}
}

// without sends a turn's mails to inboxes that nobody is told of.
func (w *webhooksRun) without(ctx context.Context, _ int) (Round, error) {
	load := w.next(w.plain, w.opts.Mails)
	return load.run(ctx)
}

// with sends a turn's mails to inboxes with a webhook. It ends when all events were told.
func (w *webhooksRun) with(ctx context.Context, _ int) (Round, error) {
	if err := w.wakeHanging(ctx); err != nil {
		return Round{}, err
	}
	dots := make([]time.Time, w.opts.Mails)
	load := w.next(w.hooked, w.opts.Mails)
	load.sent = func(i int, dot time.Time) { dots[i] = dot }
	began := time.Now()
	r, err := w.tell(ctx, &load)
	w.told.Elapsed += time.Since(began)
	if err != nil || r.Errors > 0 {
		return r, err
	}
	w.receiver.mu.Lock()
	defer w.receiver.mu.Unlock()
	for i, dot := range dots {
		w.told.latency.record(w.receiver.told[load.code(i)].Sub(dot))
		w.told.Count++
	}
	return r, nil
}

// next is the load of the next mails, with codes of their own.
func (w *webhooksRun) next(to []Inbox, mails int) mailLoad {
	first := w.codes
	w.codes += mails
	return mailLoad{addr: w.smtp, sessions: min(w.opts.Sessions, mails), mails: mails, size: w.opts.Size, rate: w.opts.Rate, to: addresses(to), first: first}
}

// tell sends mails and waits until the receiver was told of all. Refused ones fail the run
// anyway, so nobody waits for their events.
func (w *webhooksRun) tell(ctx context.Context, load *mailLoad) (Round, error) {
	w.receiver.expect(load)
	r, err := load.run(ctx)
	if err != nil || r.Errors > 0 {
		return r, err
	}
	return r, w.receiver.wait(ctx, w.opts.Within)
}

// wakeHanging sends mails whose events those that hang are told, and waits until the
// receiver that answers was.
func (w *webhooksRun) wakeHanging(ctx context.Context) error {
	if w.opts.Hanging == 0 {
		return nil
	}
	load := w.next([]Inbox{w.hung}, hangingMails)
	load.sessions, load.rate = 1, 0
	r, err := w.tell(ctx, &load)
	if err == nil && r.Errors > 0 {
		err = fmt.Errorf("mail for those that hang: %s", r.FirstError)
	}
	return err
}
