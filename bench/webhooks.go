package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"inboxd/bench/drive"
	"inboxd/bench/fakes"
	"inboxd/bench/report"
	"inboxd/http/client"
)

// WebhooksOptions shape the load of webhooks. The tags are for the command line.
type WebhooksOptions struct {
	Messages int           `help:"Messages of each round, dealt out over the inboxes." default:"4000" least:"1"`
	Rate     float64       `help:"Messages a second; 0 is as many as the server takes." default:"500" least:"0"`
	Rounds   int           `help:"Rounds, without and with webhooks in turn." default:"3" least:"1"`
	Inboxes  int           `help:"Inboxes of each of the two accounts." default:"64" least:"1"`
	Sessions int           `help:"SMTP sessions." default:"16" least:"1"`
	Size     int           `help:"Bytes of a message." default:"2048" least:"1250"`
	Hanging  int           `help:"Receivers that take connections and never respond, each notified of five events a round." default:"0" least:"0" most:"990"`
	Within   time.Duration `help:"How long the last call may trail the last 250." default:"1m" least:"1ms"`
}

// hangingMessages is how many events of each round go to receivers that hang.
const hangingMessages = 5

// receiver notes when the event of each expected code came.
type receiver struct {
	calls *fakes.Calls

	mu      sync.Mutex
	seen    map[string]time.Time // by code; zero: not yet
	missing int
	all     chan struct{} // closed when none is missing any more
	twice   int64
	strange int64  // calls without a code that is expected
	example string // the last of them
}

func openReceiver() (*receiver, error) {
	r := &receiver{seen: map[string]time.Time{}}
	var err error
	r.calls, err = fakes.TakeCalls(r.take)
	return r, err
}

// take notes one call.
func (r *receiver) take(call fakes.Call) {
	var e struct{ OTP string }
	err := json.Unmarshal(call.Body, &e)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch at, expected := r.seen[e.OTP]; {
	case err != nil || !expected:
		r.strange++
		r.example = fmt.Sprintf("%.200q %v", call.Body, err)
	case !at.IsZero():
		r.twice++
	default:
		r.seen[e.OTP] = call.At
		if r.missing--; r.missing == 0 {
			close(r.all)
		}
	}
}

// expect opens the receiver for the codes of load, before it runs.
func (r *receiver) expect(load *drive.MailLoad) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing, r.all = load.Messages, make(chan struct{})
	for i := range load.Messages {
		r.seen[load.Code(i)] = time.Time{}
	}
}

// wait returns when all expected events came.
func (r *receiver) wait(ctx context.Context, within time.Duration) error {
	select {
	case <-r.all:
		return nil
	case <-time.After(within):
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(fmt.Errorf("%d events did not come within %v; %d calls were strange, the last: %s", r.missing, within, r.strange, r.example), context.Cause(ctx))
}

// checks hold when each expected event came once and no other came.
func (r *receiver) checks() []report.Check {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []report.Check{{Name: "events received twice", Got: r.twice}, {Name: "events of messages that were not sent", Got: r.strange}}
}

// Webhooks measures what webhooks cost the message that they report, and how soon they come:
// the same load to an account without and with a webhook, in turn. With Hanging, receivers
// that never respond get events of the same account meanwhile.
func Webhooks(ctx context.Context, bed *Bed, opts WebhooksOptions) error {
	run, err := prepareWebhooks(ctx, bed, opts)
	if err != nil {
		return err
	}
	defer run.close()
	before, err1 := bed.Server.Proc.ResidentMiB()
	results, err := drive.Alternate(ctx, drive.AcceptedName(opts.Rate), opts.Rounds,
		drive.Side{Target: "without webhooks", Run: run.without, Proc: bed.Server.Proc}, drive.Side{Target: "with webhooks", Run: run.with, Proc: bed.Server.Proc})
	if err != nil {
		return err
	}
	after, err2 := bed.Server.Proc.ResidentMiB()
	bed.Report.Compare(results)
	bed.Report.Add("final dot to webhook", "inboxd", run.delivered)
	bed.Report.Note("resident MiB before", before)
	bed.Report.Note("resident MiB after", after)
	bed.Report.Checks = append(bed.Report.Checks, run.receiver.checks()...)
	return errors.Join(err1, err2)
}

// webhooksRun is two accounts' inboxes and the receivers of the second's events.
type webhooksRun struct {
	opts      WebhooksOptions
	smtp      string
	plain     []Inbox
	hooked    []Inbox
	hung      Inbox // its events go to the receivers that hang
	receiver  *receiver
	hanging   []net.Listener
	codes     int
	delivered drive.Round
}

func prepareWebhooks(ctx context.Context, bed *Bed, opts WebhooksOptions) (_ *webhooksRun, err error) {
	run := &webhooksRun{opts: opts, smtp: bed.Server.SMTP, delivered: drive.NewRound()}
	defer func() {
		if err != nil {
			run.close()
		}
	}()
	session, key, err := bed.signUp(ctx)
	if err != nil {
		return nil, err
	}
	if run.plain, err = bed.CreateInboxes(ctx, bed.Keys[:1], opts.Inboxes); err != nil {
		return nil, err
	}
	if run.hooked, err = bed.CreateInboxes(ctx, []string{key}, opts.Inboxes+1); err != nil {
		return nil, err
	}
	run.hung, run.hooked = run.hooked[opts.Inboxes], run.hooked[:opts.Inboxes]
	if run.receiver, err = openReceiver(); err != nil {
		return nil, err
	}
	return run, run.subscribe(ctx, NewAPI(bed.Server.HTTP, session))
}

func (w *webhooksRun) subscribe(ctx context.Context, api *client.Client) error {
	if _, _, err := api.Webhooks().Create(ctx, client.WebhookOrder{URL: w.receiver.calls.URL, Event: "message.received"}); err != nil {
		return err
	}
	for range w.opts.Hanging {
		ln, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts the connections
		if err != nil {
			return err
		}
		w.hanging = append(w.hanging, ln)
		hook := client.WebhookOrder{URL: "http://" + ln.Addr().String() + "/", Event: "message.received", Inbox: w.hung.Address}
		if _, _, err := api.Webhooks().Create(ctx, hook); err != nil {
			return err
		}
	}
	return nil
}

func (w *webhooksRun) close() {
	if w.receiver != nil {
		_ = w.receiver.calls.Close()
	}
	for _, ln := range w.hanging {
		_ = ln.Close()
	}
}

// without sends a turn's messages to inboxes without a webhook.
func (w *webhooksRun) without(ctx context.Context, _ int) (drive.Round, error) {
	load := w.next(w.plain, w.opts.Messages)
	return load.Run(ctx)
}

// with sends a turn's messages to inboxes with a webhook. It ends when all events came.
func (w *webhooksRun) with(ctx context.Context, _ int) (drive.Round, error) {
	if err := w.wakeHanging(ctx); err != nil {
		return drive.Round{}, err
	}
	dots := make([]time.Time, w.opts.Messages)
	load := w.next(w.hooked, w.opts.Messages)
	load.Sent = func(i int, dot time.Time) { dots[i] = dot }
	began := time.Now()
	r, err := w.deliver(ctx, &load)
	w.delivered.Elapsed += time.Since(began)
	if err != nil || r.Errors > 0 {
		return r, err
	}
	w.receiver.mu.Lock()
	defer w.receiver.mu.Unlock()
	for i, dot := range dots {
		w.delivered.Latency.Record(w.receiver.seen[load.Code(i)].Sub(dot))
		w.delivered.Count++
	}
	return r, nil
}

// next is the load of the next messages, with codes of their own.
func (w *webhooksRun) next(to []Inbox, messages int) drive.MailLoad {
	first := w.codes
	w.codes += messages
	return drive.MailLoad{Addr: w.smtp, Sessions: min(w.opts.Sessions, messages), Messages: messages, Size: w.opts.Size, Rate: w.opts.Rate, To: addresses(to), First: first}
}

// deliver sends messages and waits until the receiver got all events. Refused ones fail the run
// anyway, so their events are not waited for.
func (w *webhooksRun) deliver(ctx context.Context, load *drive.MailLoad) (drive.Round, error) {
	w.receiver.expect(load)
	r, err := load.Run(ctx)
	if err != nil || r.Errors > 0 {
		return r, err
	}
	return r, w.receiver.wait(ctx, w.opts.Within)
}

// wakeHanging sends messages whose events go to the receivers that hang, and waits until the
// other receiver got them.
func (w *webhooksRun) wakeHanging(ctx context.Context) error {
	if w.opts.Hanging == 0 {
		return nil
	}
	load := w.next([]Inbox{w.hung}, hangingMessages)
	load.Sessions, load.Rate = 1, 0
	r, err := w.deliver(ctx, &load)
	if err == nil && r.Errors > 0 {
		err = fmt.Errorf("mail for those that hang: %s", r.FirstError)
	}
	return err
}
