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

// attemptTask is one attempt of one message, shared by the workers of its destinations; once guards
// what the first of them fills in.
type attemptTask struct {
	messageKey     mailKey
	jobCount       int          // number of jobs
	reportedJobs   atomic.Int64 // jobs whose reports are on disk
	unfinishedJobs int          // jobs that are not finished; the Queue's mu guards it

	beginOnce     sync.Once
	err           error // why the attempt did not start
	message       *inbox.Message
	signedRaw     []byte // signature fields and message, as sent
	attemptNumber int    // of the attempt
	wokeInbox     bool   // this attempt activated the inbox
	utf8          bool

	localMessage func() Incoming // the message as recipients on this node get it; computed once
}

// deliveryJob is the part of one message in one lane. Only its worker uses it.
type deliveryJob struct {
	*scheduler.Attempt[mailKey]
	attemptTask *attemptTask

	rcpts, localRecipients []string // all, and those on this node
	remoteRequest          DeliveryRequest
}

// errGone ends an attempt of a message that was settled or removed meanwhile. errEarly ends one
// that a scan read before its time was moved. errHangs ends a slow one because others wait.
var (
	errGone  = errors.New("the message is no longer queued")
	errEarly = errors.New("the message is scheduled for a later attempt")
	errHangs = errors.New("a slow attempt was cancelled because other messages are waiting")
)

// startAttempt starts a worker for an attempt; the caller holds mu. The first attempt of a message
// creates the shared task.
func (q *Queue) startAttempt(a *scheduler.Attempt[mailKey]) {
	ctx, held := q.groupWork.BeginWork(a.Key.groupOf())
	if !held {
		q.attemptScheduler.AttemptFinished(q.now(), a, scheduler.AttemptResult{})
		return
	}
	t := q.runningTasks[a.Key]
	if t == nil {
		t = &attemptTask{messageKey: a.Key, jobCount: a.PartCount, unfinishedJobs: a.PartCount}
		q.runningTasks[a.Key] = t
	}
	j := &deliveryJob{Attempt: a, attemptTask: t}
	q.workersDone.Go(func() {
		defer q.groupWork.EndWork(a.Key.groupOf())
		var err error
		stackpool.Do(func() { err = q.ensureBegun(ctx, j) }) // a slow server may keep it waiting for long
		if err != nil {
			q.finishJob(j, scheduler.AttemptResult{NextTime: q.takeUp(t, err)})
			return
		}
		q.finishJob(j, q.runAttempt(ctx, j))
	})
}

// finishJob takes back a worker's job.
func (q *Queue) finishJob(j *deliveryJob, r scheduler.AttemptResult) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.cancelAttempts, j.Attempt)
	if j.attemptTask.unfinishedJobs--; j.attemptTask.unfinishedJobs == 0 {
		delete(q.runningTasks, j.Key)
	}
	q.attemptScheduler.AttemptFinished(q.now(), j.Attempt, r)
	q.wakeLoop()
}

// ensureBegun begins the message's attempt if no other job did, and sorts the job's recipients.
func (q *Queue) ensureBegun(ctx context.Context, j *deliveryJob) error {
	t := j.attemptTask
	t.beginOnce.Do(func() { t.err = q.beginAttempt(ctx, t, j.Attempt) })
	if t.err != nil {
		return t.err
	}
	if j.rcpts = q.recipientsOn(t.message.OutgoingDelivery, j.DestinationName); j.Report != "" {
		return nil
	}
	here, away := q.splitRecipients(ctx, j.rcpts)
	if j.localRecipients = here; len(away) > 0 {
		j.remoteRequest = q.newDeliveryRequest(t, j.DestinationName, away)
	}
	return nil
}

// runAttempt carries out a job that has begun: it delivers the message and commits the outcome.
func (q *Queue) runAttempt(ctx context.Context, j *deliveryJob) (r scheduler.AttemptResult) {
	var reports []Handover
	switch {
	case len(j.rcpts) == 0:
	case j.Report != "":
		reports = allLater(j.rcpts, j.Report)
	default:
		reports = q.handHere(ctx, j.attemptTask, j.localRecipients)
		r.HealthState = scheduler.HealthAnswering
		if len(j.remoteRequest.Rcpts) > 0 {
			handed := q.handOver(ctx, j, j.remoteRequest)
			reports, r = append(reports, handed...), destinationResult(handed)
		}
	}
	if ctx.Err() != nil && isTemporary(reports) {
		return scheduler.AttemptResult{} // cancelled by a stop: it says nothing about the destination
	}
	if err := q.commitReports(ctx, j.attemptTask, reports, j.Report == ""); err != nil {
		r.NextTime = q.takeUp(j.attemptTask, err)
	} else {
		q.returnSimulated(ctx, j.attemptTask, reports)
	}
	if j.attemptTask.wokeInbox {
		q.Inboxes.LetSleep(j.Key.address)
	}
	return r
}

// takeUp returns when to retry a message whose attempt failed on this side; zero if the message is
// gone.
func (q *Queue) takeUp(t *attemptTask, err error) time.Time {
	switch {
	case errors.Is(err, errGone), fault.Is(err, fault.NotFound), fault.Is(err, fault.NoInbox):
		return time.Time{}
	case errors.Is(err, errEarly):
		return q.earliestAttempt(t.message)
	}
	q.Logger.Warn("delivery attempt could not be made", "inbox", t.messageKey.address, "message_id", t.messageKey.id, "err", err)
	return q.now().Add(againAfter)
}

// beginAttempt signs the message at its first attempt and leases it. From here on the bytes are
// frozen: a crash can cause a second copy, but not a different one.
func (q *Queue) beginAttempt(ctx context.Context, t *attemptTask, a *scheduler.Attempt[mailKey]) error {
	if q.Store.IsFull() {
		return fault.New(fault.StorageFull, "The disk is full")
	}
	t.wokeInbox = !q.Inboxes.IsResident(t.messageKey.address)
	if err := q.findMessage(ctx, t, a.At); err != nil {
		return err
	}
	raw, err := q.composedMessage(t)
	if fault.Is(err, fault.DataDamaged) {
		return q.writeOff(ctx, t)
	}
	if err != nil {
		return err
	}
	if raw == nil {
		return errGone
	}
	order := inbox.BeginAttempt{ID: t.messageKey.id}
	fields, err := q.signMessage(ctx, t, raw, &order, a.MayAnswer)
	if err != nil {
		return err
	}
	outcome, err := q.Inboxes.Do(ctx, t.messageKey.address, order)
	if err != nil {
		return err
	}
	t.attemptNumber = outcome.Count
	t.signedRaw = append(fields[:len(fields):len(fields)], raw...)
	t.utf8 = !isASCIIHeader(raw)
	t.localMessage = sync.OnceValue(func() Incoming { return q.buildIncoming(t) })
	q.counts.attempts.Add(1)
	return nil
}

// writeOff ends the delivery of a message whose bytes are lost from the disk: no retry can bring
// them back.
func (q *Queue) writeOff(ctx context.Context, t *attemptTask) error {
	outcome, err := q.Inboxes.Do(ctx, t.messageKey.address, inbox.BeginAttempt{ID: t.messageKey.id, SigningResult: inbox.MessageUnsigned})
	if err != nil {
		return err
	}
	t.attemptNumber, t.jobCount = outcome.Count, 1
	var reports []Handover
	for _, r := range t.message.OutgoingDelivery.Recipients {
		if !r.Status.IsFinal() {
			reports = append(reports, Handover{Rcpt: r.Email, Outcome: delivery.OutcomePermanent, Text: "The message is damaged on the disk of this service"})
		}
	}
	if err := q.commitReports(ctx, t, reports, false); err != nil {
		return err
	}
	return errGone
}

// findMessage reads the message of a task if an attempt is due. at is the time in the index or in
// memory.
func (q *Queue) findMessage(ctx context.Context, t *attemptTask, at time.Time) error {
	m, err := q.Inboxes.QueuedMessage(ctx, t.messageKey.address, t.messageKey.id)
	if err != nil {
		return err
	}
	if err := q.repairEntry(ctx, t.messageKey, at, m); err != nil {
		return err
	}
	if m == nil {
		return errGone
	}
	if t.message = m; !m.OutgoingDelivery.AttemptLeased && q.earliestAttempt(m).After(q.now()) {
		return errEarly
	}
	return nil
}

// repairEntry makes the owner correct an index entry whose time differs from the message's own. m
// is the message, nil if it does not wait. Usually no such entry exists, because an attempt moved
// the message or memory has another time: then mend costs one look-up.
func (q *Queue) repairEntry(ctx context.Context, key mailKey, at time.Time, m *inbox.Message) error {
	order := inbox.MendEntry{ID: key.id, At: at}
	if m != nil && m.OutgoingDelivery.NextDue.Equal(at) {
		return nil
	}
	stray, found, err := q.Store.QueuedAt(key.address, key.id, at)
	if err != nil || !found {
		return err
	}
	if m != nil {
		if _, found, err = q.Store.QueuedAt(key.address, key.id, m.OutgoingDelivery.NextDue); err != nil {
			return err
		}
		if !found {
			order.MissingTime = m.OutgoingDelivery.NextDue
		}
	}
	order.AcceptedAt = stray.AcceptedAt
	q.Logger.Warn("mail queue entry corrected", "inbox", key.address, "message_id", key.id, "due", at)
	_, err = q.Inboxes.Do(ctx, key.address, order)
	return err
}

// signMessage returns the fields that the first attempt froze, or signs now.
func (q *Queue) signMessage(ctx context.Context, t *attemptTask, raw []byte, order *inbox.BeginAttempt, hopeful bool) ([]byte, error) {
	if t.message.OutgoingDelivery.SigningResult != inbox.NotYet {
		return q.frozenSignature(t)
	}
	order.SigningResult = inbox.MessageUnsigned
	if q.FindSigner == nil {
		return nil, nil
	}
	sign, err := q.FindSigner(ctx, t.messageKey.address)
	if err != nil || sign == nil {
		return nil, err
	}
	err = q.signingTurns.runSigning(ctx, hopeful, func() (err error) {
		order.SignatureFields, err = sign(raw)
		return err
	})
	if err != nil {
		return nil, err
	}
	order.SigningResult = inbox.MessageSigned
	return q.freezeSignature(t, order)
}

func isASCIIHeader(raw []byte) bool {
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	return bytes.IndexFunc(head, func(r rune) bool { return r >= 0x80 }) < 0
}

func (q *Queue) recipientsOn(sending *inbox.OutgoingDelivery, route string) (rcpts []string) {
	for _, r := range sending.Recipients {
		if !r.Status.IsFinal() && q.routeFor(address.DomainOf(r.Email)) == route {
			rcpts = append(rcpts, r.Email)
		}
	}
	return rcpts
}

// newDeliveryRequest is the part of a message that takes one route. The envelope sender of each copy
// identifies the recipient that a bounce is about. Recipients do not see each other's envelope
// sender, or they could forge bounces about each other.
func (q *Queue) newDeliveryRequest(t *attemptTask, route string, rcpts []string) DeliveryRequest {
	c := DeliveryRequest{Domain: route, Rcpts: rcpts, Raw: t.signedRaw, NeedUTF8: t.utf8}
	if t.message.OutgoingDelivery.ServiceWritten {
		return c
	}
	for i, r := range t.message.OutgoingDelivery.Recipients {
		if t.message.OutgoingDelivery.CopyOfMeeting != 0 {
			i = delivery.OwnersCopy
		}
		if slices.Contains(rcpts, r.Email) {
			c.Senders = append(c.Senders, q.ReturnPath(t.messageKey.address, t.messageKey.id, i))
		}
	}
	return c
}

// handOver passes a consignment to the courier until the scheduler wants its worker back.
func (q *Queue) handOver(ctx context.Context, j *deliveryJob, c DeliveryRequest) []Handover {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.Greeted = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.attemptScheduler.AttemptGreeted(j.Attempt)
	}
	q.mu.Lock()
	q.cancelAttempts[j.Attempt] = cancel
	q.attemptScheduler.AttemptConnecting(j.Attempt, int64(len(c.Raw)))
	q.mu.Unlock()
	taken := make(chan inbox.AttemptReport, len(c.Rcpts))
	c.Taken = func(rcpt, mx string) {
		taken <- inbox.AttemptReport{Email: rcpt, Outcome: delivery.OutcomeDelivered, MX: mx}
	}
	var committing sync.WaitGroup
	committing.Go(func() {
		if err := q.commitTaken(ctx, j.attemptTask, taken); err != nil {
			cancel(err) // what is taken but not on disk would be sent again after a crash: stop here
		}
	})
	began := time.Now()
	failpoint.MarkPoint("attempt-started")
	out := q.Courier.Deliver(ctx, c)
	close(taken)
	committing.Wait()
	failpoint.MarkPoint("handed-over")
	q.counts.conversationSeconds.ObserveBetween(began, time.Now())
	if errors.Is(context.Cause(ctx), errHangs) && isTemporary(out) {
		return allLater(c.Rcpts, "The mail server of "+c.Domain+" did not respond in time")
	}
	return out
}
