package mailqueue

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/base/failpoint"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/stackpool"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/scheduler"
)

// task is one attempt of one message, shared by the workers of its destinations; once guards what
// the first of them fills in.
type task struct {
	key   mailKey
	parts int          // number of jobs
	done  atomic.Int64 // jobs whose reports are on disk
	left  int          // jobs that are not finished; the Queue's mu guards it

	once    sync.Once
	err     error // why the attempt did not start
	message *inbox.Message
	raw     []byte // signature fields and message, as sent
	number  int    // of the attempt
	woken   bool   // this attempt activated the inbox
	utf8    bool

	local func() Incoming // the message as recipients on this node get it; computed once
}

// job is the part of one message in one lane. Only its worker uses it.
type job struct {
	*scheduler.Attempt[mailKey]
	task *task

	rcpts, here []string // all, and those on this node
	away        Consignment
}

// errGone ends an attempt of a message that was settled or removed meanwhile. errEarly ends one
// that a scan read before its time was moved. errHangs ends a slow one because others wait.
var (
	errGone  = errors.New("the message is no longer queued")
	errEarly = errors.New("the message is scheduled for a later attempt")
	errHangs = errors.New("a slow attempt was cancelled because other messages are waiting")
)

// start starts a worker for an attempt; the caller holds mu. The first attempt of a message creates
// the shared task.
func (q *Queue) start(a *scheduler.Attempt[mailKey]) {
	ctx, held := q.terms.Begin(a.Key.group())
	if !held {
		q.line.Finished(q.now(), a, scheduler.Result{})
		return
	}
	t := q.tasks[a.Key]
	if t == nil {
		t = &task{key: a.Key, parts: a.Parts, left: a.Parts}
		q.tasks[a.Key] = t
	}
	j := &job{Attempt: a, task: t}
	q.work.Go(func() {
		defer q.terms.End(a.Key.group())
		var err error
		stackpool.Do(func() { err = q.begun(ctx, j) }) // a slow server may keep it waiting for long
		if err != nil {
			q.finished(j, scheduler.Result{Again: q.takeUp(t, err)})
			return
		}
		q.finished(j, q.attempt(ctx, j))
	})
}

// finished takes back a worker's job.
func (q *Queue) finished(j *job, r scheduler.Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.ends, j.Attempt)
	if j.task.left--; j.task.left == 0 {
		delete(q.tasks, j.Key)
	}
	q.line.Finished(q.now(), j.Attempt, r)
	q.nudge()
}

// begun begins the message's attempt if no other job did, and sorts the job's recipients.
func (q *Queue) begun(ctx context.Context, j *job) error {
	t := j.task
	t.once.Do(func() { t.err = q.begin(ctx, t, j.Attempt) })
	if t.err != nil {
		return t.err
	}
	if j.rcpts = q.recipientsOn(t.message.Sending, j.Lane); j.Report != "" {
		return nil
	}
	here, away := q.sort(ctx, j.rcpts)
	if j.here = here; len(away) > 0 {
		j.away = q.consignment(t, j.Lane, away)
	}
	return nil
}

// attempt carries out a job that has begun: it delivers the message and commits the outcome.
func (q *Queue) attempt(ctx context.Context, j *job) (r scheduler.Result) {
	var reports []Handover
	switch {
	case len(j.rcpts) == 0:
	case j.Report != "":
		reports = allLater(j.rcpts, j.Report)
	default:
		reports = q.handHere(ctx, j.task, j.here)
		r.Temper = scheduler.Answering
		if len(j.away.Rcpts) > 0 {
			handed := q.handOver(ctx, j, j.away)
			reports, r = append(reports, handed...), learn(handed)
		}
	}
	if ctx.Err() != nil && isTemporary(reports) {
		return scheduler.Result{} // cancelled by a stop: it says nothing about the destination
	}
	if err := q.report(ctx, j.task, reports, j.Report == ""); err != nil {
		r.Again = q.takeUp(j.task, err)
	}
	if j.task.woken {
		q.Inboxes.LetSleep(j.Key.address)
	}
	return r
}

// takeUp returns when to retry a message whose attempt failed on this side; zero if the message is
// gone.
func (q *Queue) takeUp(t *task, err error) time.Time {
	switch {
	case errors.Is(err, errGone), fault.Is(err, fault.NotFound), fault.Is(err, fault.NoInbox):
		return time.Time{}
	case errors.Is(err, errEarly):
		return t.message.Sending.Due
	}
	q.Logger.Warn("delivery attempt could not be made", "inbox", t.key.address, "message_id", t.key.id, "err", err)
	return q.now().Add(againAfter)
}

// begin signs the message at its first attempt and leases it. From here on the bytes are frozen: a
// crash can cause a second copy, but not a different one.
func (q *Queue) begin(ctx context.Context, t *task, a *scheduler.Attempt[mailKey]) error {
	if q.Store.Full() {
		return fault.New(fault.StorageFull, "The disk is full")
	}
	t.woken = !q.Inboxes.IsResident(t.key.address)
	if err := q.find(ctx, t, a.At); err != nil {
		return err
	}
	raw, err := q.outgoing(t)
	if fault.Is(err, fault.Damaged) {
		return q.writeOff(ctx, t)
	}
	if err != nil {
		return err
	}
	if raw == nil {
		return errGone
	}
	order := inbox.Attempt{ID: t.key.id}
	fields, err := q.signature(ctx, t, raw, &order, a.Hopeful)
	if err != nil {
		return err
	}
	outcome, err := q.Inboxes.Do(ctx, t.key.address, order)
	if err != nil {
		return err
	}
	t.number = outcome.Count
	t.raw = append(fields[:len(fields):len(fields)], raw...)
	t.utf8 = !isASCIIHeader(raw)
	t.local = sync.OnceValue(func() Incoming { return q.incoming(t) })
	q.counts.attempts.Add(1)
	return nil
}

// writeOff ends the delivery of a message whose bytes are lost from the disk: no retry can bring
// them back.
func (q *Queue) writeOff(ctx context.Context, t *task) error {
	outcome, err := q.Inboxes.Do(ctx, t.key.address, inbox.Attempt{ID: t.key.id, Signed: inbox.Unsigned})
	if err != nil {
		return err
	}
	t.number, t.parts = outcome.Count, 1
	var reports []Handover
	for _, r := range t.message.Sending.Recipients {
		if !r.Status.Final() {
			reports = append(reports, Handover{Rcpt: r.Email, Outcome: delivery.Permanent, Text: "The message is damaged on the disk of this service"})
		}
	}
	if err := q.report(ctx, t, reports, false); err != nil {
		return err
	}
	return errGone
}

// find reads the message of a task if an attempt is due. at is the time in the index or in memory.
func (q *Queue) find(ctx context.Context, t *task, at time.Time) error {
	m, err := q.Inboxes.Queued(ctx, t.key.address, t.key.id)
	if err != nil {
		return err
	}
	if err := q.mend(ctx, t.key, at, m); err != nil {
		return err
	}
	if m == nil {
		return errGone
	}
	if t.message = m; !m.Sending.Leased && m.Sending.Due.After(q.now()) {
		return errEarly
	}
	return nil
}

// mend makes the owner correct an index entry whose time differs from the message's own. m is the
// message, nil if it does not wait. Usually no such entry exists, because an attempt moved the
// message or memory has another time: then mend costs one look-up.
func (q *Queue) mend(ctx context.Context, key mailKey, at time.Time, m *inbox.Message) error {
	order := inbox.MendEntry{ID: key.id, At: at}
	if m != nil && m.Sending.Due.Equal(at) {
		return nil
	}
	stray, found, err := q.Store.QueuedAt(key.address, key.id, at)
	if err != nil || !found {
		return err
	}
	if m != nil {
		if _, found, err = q.Store.QueuedAt(key.address, key.id, m.Sending.Due); err != nil {
			return err
		}
		if !found {
			order.Missing = m.Sending.Due
		}
	}
	order.Since = stray.Since
	q.Logger.Warn("mail queue entry corrected", "inbox", key.address, "message_id", key.id, "due", at)
	_, err = q.Inboxes.Do(ctx, key.address, order)
	return err
}

// signature returns the fields that the first attempt froze, or signs now.
func (q *Queue) signature(ctx context.Context, t *task, raw []byte, order *inbox.Attempt, hopeful bool) ([]byte, error) {
	if t.message.Sending.Signature != inbox.NotYet {
		return q.frozen(t)
	}
	order.Signed = inbox.Unsigned
	if q.Signer == nil {
		return nil, nil
	}
	sign, err := q.Signer(ctx, t.key.address)
	if err != nil || sign == nil {
		return nil, err
	}
	err = q.signing.sign(ctx, hopeful, func() (err error) {
		order.Fields, err = sign(raw)
		return err
	})
	if err != nil {
		return nil, err
	}
	order.Signed = inbox.Signed
	return q.freeze(t, order)
}

func isASCIIHeader(raw []byte) bool {
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	return bytes.IndexFunc(head, func(r rune) bool { return r >= 0x80 }) < 0
}

func (q *Queue) recipientsOn(sending *inbox.Sending, route string) (rcpts []string) {
	for _, r := range sending.Recipients {
		if !r.Status.Final() && q.route(address.DomainOf(r.Email)) == route {
			rcpts = append(rcpts, r.Email)
		}
	}
	return rcpts
}

// consignment is the part of a message that takes one route. The envelope sender of each copy
// identifies the recipient that a bounce is about. Recipients do not see each other's envelope
// sender, or they could forge bounces about each other.
func (q *Queue) consignment(t *task, route string, rcpts []string) Consignment {
	c := Consignment{Domain: route, Rcpts: rcpts, Raw: t.raw, NeedUTF8: t.utf8}
	if t.message.Sending.Auto {
		return c
	}
	for i, r := range t.message.Sending.Recipients {
		if t.message.Sending.Meeting != 0 {
			i = delivery.OwnersCopy
		}
		if slices.Contains(rcpts, r.Email) {
			c.Senders = append(c.Senders, q.ReturnPath(t.key.address, t.key.id, i))
		}
	}
	return c
}

// handOver passes a consignment to the courier until the scheduler wants its worker back.
func (q *Queue) handOver(ctx context.Context, j *job, c Consignment) []Handover {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.Greeted = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.line.Greeted(j.Attempt)
	}
	q.mu.Lock()
	q.ends[j.Attempt] = cancel
	q.line.Connects(j.Attempt, int64(len(c.Raw)))
	q.mu.Unlock()
	taken := make(chan inbox.Report, len(c.Rcpts))
	c.Taken = func(rcpt, mx string) { taken <- inbox.Report{Email: rcpt, Outcome: delivery.Delivered, MX: mx} }
	var committing sync.WaitGroup
	committing.Go(func() {
		if err := q.commitTaken(ctx, j.task, taken); err != nil {
			cancel(err) // what is taken but not on disk would be sent again after a crash: stop here
		}
	})
	began := time.Now()
	failpoint.Here("attempt-started")
	out := q.Courier.Deliver(ctx, c)
	close(taken)
	committing.Wait()
	failpoint.Here("handed-over")
	q.counts.seconds.Between(began, time.Now())
	if errors.Is(context.Cause(ctx), errHangs) && isTemporary(out) {
		return allLater(c.Rcpts, "The mail server of "+c.Domain+" did not respond in time")
	}
	return out
}
