package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"inboxd/http/client"
)

// WebhooksOptions shape the load of webhooks. The tags are for the command line.
type WebhooksOptions struct {
	Mails    int     `help:"Mails of each round, dealt out over the inboxes." default:"4000"`
	Rate     float64 `help:"Mails a second; 0 is as many as the server takes." default:"500"`
	Rounds   int     `help:"Rounds, without and with webhooks in turn." default:"3"`
	Inboxes  int     `help:"Inboxes of each of the two accounts." default:"64"`
	Sessions int     `help:"SMTP sessions." default:"16"`
	Size     int     `help:"Bytes of a mail." default:"2048"`
	Hanging  int     `help:"Receivers that take connections and never answer, each told of five events a round." default:"0"`
}

const (
	webhooksWithin = 60 * time.Second // the last call may trail the last 250 by so much
	maxHanging     = 990
	hangingMails   = 5 // each round's events for those that hang
)

// WebhookServeArgs are what a server of ours needs to call receivers on loopback, and to let
// one account have that many.
func WebhookServeArgs() []string {
	return []string{"--webhook-allow=127.0.0.0/8", "--plans=[paid]\nmax_webhooks = 1000\n"}
}

// receiver notes when each code was told.
type receiver struct {
	server *http.Server
	url    string

	mu     sync.Mutex
	told   map[string]time.Time
	twice  int
	wrong  string
	wanted int
	all    chan struct{} // closed when wanted codes were told
}

func openReceiver() (*receiver, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + ln.Addr().String() + "/", told: map[string]time.Time{}}
	r.server = &http.Server{Handler: r}
	go r.server.Serve(ln) // until Close
	return r, nil
}

func (r *receiver) Close() error { return r.server.Close() }

// ServeHTTP notes one call.
func (r *receiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	now := time.Now()
	var e struct{ OTP string }
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch _, known := r.told[e.OTP]; {
	case err != nil || e.OTP == "":
		r.wrong = fmt.Sprintf("%.200q %v", body, err)
	case known:
		r.twice++
	default:
		if r.told[e.OTP] = now; len(r.told) == r.wanted {
			close(r.all)
		}
	}
}

// expect waits for n codes more than there are now once the returned function is called.
func (r *receiver) expect(n int) (wait func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted, r.all = len(r.told)+n, make(chan struct{})
	all := r.all
	return func(ctx context.Context) error {
		select {
		case <-all:
			return nil
		case <-time.After(webhooksWithin):
		case <-ctx.Done():
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return errors.Join(fmt.Errorf("%d of %d events were told; the last wrong call: %s", len(r.told), r.wanted, r.wrong), context.Cause(ctx))
	}
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
	before, _ := bed.Server.residentMiB()
	results, err := Alternate(ctx, acceptedName(opts.Rate), opts.Rounds,
		Side{"without webhooks", func(ctx context.Context, round int) (Round, error) { return run.round(ctx, round, false) }},
		Side{"with webhooks", func(ctx context.Context, round int) (Round, error) { return run.round(ctx, round, true) }})
	if err != nil {
		return err
	}
	after, _ := bed.Server.residentMiB()
	bed.Report.compare(results)
	bed.Report.add("final dot to webhook", run.told)
	bed.Report.Results[len(bed.Report.Results)-1].Values = map[string]float64{"resident MiB before": before, "resident MiB after": after}
	bed.Report.Checks = append(bed.Report.Checks, Check{"events told twice", 0, int64(run.receiver.twice)})
	return nil
}

// residentMiB is 0 for a server that is not ours.
func (s *Server) residentMiB() (float64, error) {
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
	session, key, err := signUpBoth(ctx, bed.Server.HTTP)
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

// round sends one round's mails. With webhooks it ends when all events were told.
func (w *webhooksRun) round(ctx context.Context, _ int, hooked bool) (Round, error) {
	to := w.plain
	if hooked {
		to = w.hooked
	}
	dots := make([]time.Time, w.opts.Mails)
	load := mailLoad{addr: w.smtp, sessions: w.opts.Sessions, mails: w.opts.Mails, size: w.opts.Size, rate: w.opts.Rate, to: addresses(to), first: w.codes}
	load.sent = func(i int, dot time.Time) { dots[i] = dot }
	w.codes += w.opts.Mails
	if !hooked {
		return load.run(ctx)
	}
	if err := w.wakeHanging(ctx); err != nil {
		return Round{}, err
	}
	wait := w.receiver.expect(w.opts.Mails)
	began := time.Now()
	r, err := load.run(ctx)
	if err != nil {
		return r, err
	}
	if err := wait(ctx); err != nil {
		return r, err
	}
	w.told.Elapsed += time.Since(began)
	w.receiver.mu.Lock()
	defer w.receiver.mu.Unlock()
	for i, dot := range dots {
		w.told.latency.record(w.receiver.told[load.code(i)].Sub(dot))
		w.told.Count++
	}
	return r, nil
}

// wakeHanging sends a mail whose event those that hang are told, and waits until the
// receiver that answers was.
func (w *webhooksRun) wakeHanging(ctx context.Context) error {
	if w.opts.Hanging == 0 {
		return nil
	}
	load := mailLoad{addr: w.smtp, sessions: 1, mails: hangingMails, size: w.opts.Size, to: []string{w.hung.Address}, first: w.codes}
	w.codes += hangingMails
	wait := w.receiver.expect(hangingMails)
	if _, err := load.run(ctx); err != nil {
		return err
	}
	return wait(ctx)
}
