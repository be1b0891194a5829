package actors

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/address"
	"inboxd/internal/delivery"
	"inboxd/internal/domain"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

// task is one attempt of one mail, shared by the workers of its destinations.
type task struct {
	key mailKey

	once    sync.Once
	err     error // why the attempt did not begin
	message *inbox.Message
	raw     []byte // signature fields and message, as they go out
	number  int    // of the attempt
	woken   bool   // the inbox is in memory because of this attempt
	utf8    bool

	probes bool // whatever is known of its destinations

	size  atomic.Int64 // of raw, once the attempt began
	jobs  int          // all of them
	done  atomic.Int64 // jobs whose reports are on disk
	again time.Time    // under the queue's mu: when to take the mail up again
}

// errGone ends an attempt of a mail that was settled or removed meanwhile, errEarly one that
// a scan read before its time was moved.
var (
	errGone  = errors.New("the mail does not wait any more")
	errEarly = errors.New("the mail waits for a later time")
	errHangs = errors.New("others wait for the place of an attempt that hangs")
)

// begun begins the mail's attempt if no other job did, and sorts the job's recipients.
func (s *System) begun(ctx context.Context, j *job) error {
	t := j.task
	t.once.Do(func() { t.err = s.begin(ctx, t, j.trusts) })
	if t.err != nil {
		return t.err
	}
	if j.rcpts = s.recipientsOn(t.message.Sending, j.lane.name); j.putOff != "" {
		return nil
	}
	here, away := s.sort(j.rcpts)
	if j.here = here; len(away) > 0 {
		j.away = s.consignment(t, j.lane.name, away)
	}
	return nil
}

// attempt carries out a job that is begun: hand the mail over, and commit what came of it.
func (s *System) attempt(ctx context.Context, j *job) (learned answerOf) {
	t := j.task
	var reports []Handover
	switch {
	case len(j.rcpts) == 0:
	case j.putOff != "":
		reports = allLater(j.rcpts, j.putOff)
	default:
		reports = s.deliverHere(ctx, t, j.here)
		learned.temper = answering
		if len(j.away.Rcpts) > 0 {
			handed := s.handOver(ctx, j, j.away)
			reports, learned = append(reports, handed...), learn(handed)
		}
	}
	if ctx.Err() != nil && isTemporary(reports) {
		return answerOf{} // broken off by a stop: not an answer of anybody
	}
	if err := s.report(ctx, t, reports, j.putOff == ""); err != nil {
		s.giveBack(t, err)
	}
	if t.woken {
		s.letSleep(t.key.address)
	}
	return learned
}

// letSleep sends an inbox out of memory again that nothing but its sent mail woke, once such
// add up: a queue after an outage must not fill memory with inboxes nobody asks for.
func (s *System) letSleep(address string) {
	if s.inboxes.Stats().Bytes < s.Memory/16 {
		return
	}
	s.inboxes.Passivate(address)
}

// giveBack has a mail taken up again soon, unless it is gone.
func (s *System) giveBack(t *task, err error) {
	again := s.now().Add(againAfter)
	switch {
	case errors.Is(err, errGone), fault.Is(err, fault.NotFound), fault.Is(err, fault.NoInbox):
		return
	case errors.Is(err, errEarly):
		again = t.message.Sending.Due
	default:
		s.Logger.Warn("an attempt could not be carried out", "inbox", t.key.address, "message_id", t.key.id, "err", err)
	}
	s.mail.mu.Lock()
	defer s.mail.mu.Unlock()
	t.again = again
}

// begin signs the mail if that was never done and leases it. From here on the bytes are
// frozen: a crash can make a second copy but not another one.
func (s *System) begin(ctx context.Context, t *task, trusts bool) error {
	if s.store.Full() {
		return fault.New(fault.StorageFull, "The disk is full")
	}
	t.woken = s.inboxes.Resident([]byte(t.key.address)) == nil
	view, err := s.View(ctx, t.key.address)
	if err != nil {
		return err
	}
	m := view.Message(t.key.id, s.now())
	if m == nil || !m.Waiting() {
		return errGone
	}
	if t.message = m; !m.Sending.Leased && m.Sending.Due.After(s.now()) {
		return errEarly
	}
	raw, err := s.store.Raw(t.key.address, t.key.id)
	if err != nil {
		return err
	}
	if raw == nil {
		return errGone
	}
	order := inbox.Attempt{ID: t.key.id}
	fields, err := s.signature(ctx, t.key.address, m, raw, &order, trusts)
	if err != nil {
		return err
	}
	answer, err := s.Do(ctx, t.key.address, order)
	if err != nil {
		return err
	}
	t.number = answer.Count
	t.raw = append(fields[:len(fields):len(fields)], raw...)
	t.utf8 = !isASCIIHeader(raw)
	t.size.Store(int64(len(t.raw)))
	s.mail.counts.attempts.Add(1)
	return nil
}

// signature returns the fields that the first attempt froze, or signs now.
func (s *System) signature(ctx context.Context, address string, m *inbox.Message, raw []byte, order *inbox.Attempt, trusts bool) ([]byte, error) {
	if m.Sending.Signature != inbox.NotYet {
		return s.store.Signature(address, m.ID)
	}
	order.Signed = inbox.Unsigned
	host, keys, err := s.SigningKeys(ctx, address)
	if err != nil || len(keys) == 0 || s.Signer == nil {
		return nil, err
	}
	err = s.mail.toSign(ctx, trusts, func() (err error) {
		order.Fields, err = s.Signer(raw, host, keys, s.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	order.Signed = inbox.Signed
	return order.Fields, nil
}

func isASCIIHeader(raw []byte) bool {
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	return bytes.IndexFunc(head, func(r rune) bool { return r >= 0x80 }) < 0
}

// road names the lane of a destination: with a smarthost all but our own share one.
func (s *System) road(domain string) string {
	if s.OneRoad == "" || s.isLocal(domain) {
		return domain
	}
	return s.OneRoad
}

func (s *System) recipientsOn(sending *inbox.Sending, road string) (rcpts []string) {
	for _, r := range sending.Recipients {
		if !r.Status.Final() && s.road(address.DomainOf(r.Email)) == road {
			rcpts = append(rcpts, r.Email)
		}
	}
	return rcpts
}

func (s *System) consignment(t *task, road string, rcpts []string) Consignment {
	c := Consignment{Domain: road, Rcpts: rcpts, Raw: t.raw, NeedUTF8: t.utf8}
	if !t.message.Sending.Auto {
		c.MailFrom = s.returnPath(t, rcpts[0])
	}
	return c
}

// learn says how a destination answered: it is silent when no server of it spoke at all.
func learn(reports []Handover) answerOf {
	for _, r := range reports {
		if r.MX != "" || r.Code != 0 || r.Outcome != delivery.Temporary {
			return answerOf{temper: answering}
		}
	}
	if len(reports) == 0 {
		return answerOf{}
	}
	return answerOf{temper: silent, report: reports[0].Text}
}

// report commits what one job brought. The last job of the attempt also ends it.
func (s *System) report(ctx context.Context, t *task, reports []Handover, tried bool) error {
	order := inbox.Attempted{ID: t.key.id, Attempt: t.number, Reports: make([]inbox.Report, len(reports))}
	for i, r := range reports {
		order.Reports[i] = inbox.Report{Email: r.Rcpt, Outcome: r.Outcome, Error: r.sentence(), MX: r.MX}
	}
	// Until its outcome is on disk the mail may be sent twice, so neither a stop nor a busy
	// moment ends this early.
	ctx = context.WithoutCancel(ctx)
	next, more := s.Schedule.Next(t.number, t.message.ReceivedAt, s.now(), rand.Float64())
	if t.jobs > 1 {
		if err := s.insist(ctx, t.key.address, order); err != nil {
			return err
		}
		order.Reports = nil
	}
	if int(t.done.Add(1)) == t.jobs {
		if order.Done = true; more {
			order.Next = next.UTC().Truncate(time.Millisecond)
		}
		if err := s.insist(ctx, t.key.address, order); err != nil {
			return err
		}
	}
	s.logReports(t, reports, tried, !more)
	return nil
}

// insist repeats a command while the inbox is too busy for it, for a while.
func (s *System) insist(ctx context.Context, address string, order inbox.Command) (err error) {
	for try := range 8 {
		if _, err = s.Do(ctx, address, order); !fault.Is(err, fault.Unavailable) {
			return err
		}
		time.Sleep(50 * time.Millisecond << try)
	}
	return err
}

// logReports writes one line per recipient and counts. The last attempt is the recipient's
// failure too.
func (s *System) logReports(t *task, reports []Handover, tried, last bool) {
	for _, r := range reports {
		verb, counter := "attempt", &s.mail.counts.temporary
		switch r.Outcome {
		case delivery.Delivered:
			verb, counter = "delivered", &s.mail.counts.delivered
		case delivery.Permanent:
			verb, counter = "failed", &s.mail.counts.permanent
		}
		if last && r.Outcome == delivery.Temporary {
			verb = "failed"
		}
		counter.Add(1)
		s.Logger.Info(verb, "inbox", t.key.address, "message_id", t.key.id, "attempt", t.number, "to", r.Rcpt,
			"mx", r.MX, "code", r.Code, "tls", r.TLS, "tried", tried, "answer", r.Text)
	}
}

// sentence is the report as the sender reads it.
func (r *Handover) sentence() string {
	if r.Outcome == delivery.Delivered {
		return ""
	}
	return r.Text
}

// returnPath is the envelope sender of a copy: it tells which recipient a bounce is about.
// Recipients that share a copy share the path, and the bounce itself names its recipient.
func (s *System) returnPath(t *task, rcpt string) string {
	index := slices.IndexFunc(t.message.Sending.Recipients, func(r inbox.Recipient) bool { return r.Email == rcpt })
	return delivery.ReturnPath(s.secret, t.key.address, t.key.id, index)
}

// isLocal reports the service domain and what is below it.
func (s *System) isLocal(host string) bool { return domain.Within(host, s.Namespaces.Domain) }

// sort tells recipients on this node, of verified own domains too, from all others. While the
// store can't tell, an own domain's mail goes its way over the MX.
func (s *System) sort(rcpts []string) (here, away []string) {
	for _, rcpt := range rcpts {
		host := address.DomainOf(rcpt)
		local := s.isLocal(host)
		if !local {
			state, err := s.store.LoadDomain(host)
			local = err == nil && state.Status == domain.Verified
		}
		if local {
			here = append(here, rcpt)
		} else {
			away = append(away, rcpt)
		}
	}
	return here, away
}

// quiet is how long a destination that did not answer is left alone: shorter than any retry,
// so that a mail's own attempts are probes.
func (s *System) quiet() time.Duration {
	delays := s.Schedule.Delays
	if len(delays) == 0 {
		delays = delivery.DefaultDelays
	}
	return min(slices.Min(delays)/2, 30*time.Second)
}
