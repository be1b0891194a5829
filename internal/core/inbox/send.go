package inbox

import (
	"fmt"
	"slices"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/delivery"
)

// deliveryChanged is a change of a sending to the state that Decide computed.
type deliveryChanged struct {
	ID               int64
	OutgoingDelivery OutgoingDelivery
	SignatureFields  []byte // signature fields to store; nil: none
	DueBefore        time.Time
	PublicEvent      *PublicEvent
}

// entryMended is an entry of the queue at a time that is not the message's own. Own is the
// message's own time in the index, zero if it has none.
type entryMended struct {
	ID                      int64
	At, AcceptedAt, OwnTime time.Time
}

// movedTogether are changes of different messages.
type movedTogether []deliveryChanged

// messagesHidden are queued messages that are no longer readable.
type messagesHidden []*Message

func (e messagesHidden) applyTo(s *State) {
	s.Messages = slices.Clone(s.Messages)
	for _, m := range e {
		if i, ok := s.indexOf(m.ID); ok {
			m := *m
			m.IsHidden = true
			s.Messages[i] = &m
		}
	}
}
func (e messagesHidden) collectRows(s *State, r *Rows) {
	for _, m := range e {
		r.putMessage(s, m.ID)
	}
}

type messageSubmitted struct {
	Message        Message
	Content        *Content
	Raw            []byte
	EncryptedParts *EncryptedParts
}

func (e messageSubmitted) applyTo(s *State) {
	m := e.Message
	s.AddMessage(&m)
	s.LastID = m.ID
}
func (e messageSubmitted) collectRows(s *State, r *Rows) {
	r.writeProfile(s)
	m := s.Messages[len(s.Messages)-1]
	r.PutMessages = append(r.PutMessages, m)
	r.StoreMessages = append(r.StoreMessages, storedMessage(m.ID, e.Content, e.Raw, e.EncryptedParts))
	r.QueueMoves = append(r.QueueMoves, m.queueMove(time.Time{}))
}

func (e deliveryChanged) applyTo(s *State) { movedTogether{e}.applyTo(s) }
func (e deliveryChanged) collectRows(s *State, r *Rows) {
	r.putMessage(s, e.ID)
	if i, ok := s.indexOf(e.ID); ok && !(e.DueBefore.IsZero() && e.OutgoingDelivery.NextDue.IsZero()) { // the domains may differ even if the time does not
		r.QueueMoves = append(r.QueueMoves, s.Messages[i].queueMove(e.DueBefore))
	}
	if e.SignatureFields != nil {
		r.SignatureFields = append(r.SignatureFields, SignatureFields{e.ID, e.SignatureFields})
	}
	if e.PublicEvent != nil {
		r.writeProfile(s)
		r.PublicEvents = append(r.PublicEvents, *e.PublicEvent)
	}
	r.dropAttemptData(s, e.ID)
}

// dropAttemptData removes what was stored for the attempts of an encrypted message when its status
// is final. From then on only its envelope is stored.
func (r *Rows) dropAttemptData(s *State, id int64) {
	if i, ok := s.indexOf(id); ok && s.Messages[i].EncryptedState != nil && !s.Messages[i].IsWaiting() {
		r.FinalMessages = append(r.FinalMessages, s.Messages[i])
	}
}

// applyTo copies the list once for all of them, because views keep the old one.
func (es movedTogether) applyTo(s *State) {
	s.Messages = slices.Clone(s.Messages)
	for _, e := range es {
		if e.PublicEvent != nil {
			s.LastEvent = e.PublicEvent.SequenceNumber
		}
		i, ok := s.indexOf(e.ID)
		if !ok {
			continue
		}
		m := *s.Messages[i]
		m.OutgoingDelivery = new(e.OutgoingDelivery)
		s.Messages[i] = &m
		if e.OutgoingDelivery.Status.IsFinal() {
			s.dueBy(m.ExpiresAt) // retention may remove it from now on
		}
	}
}
func (es movedTogether) collectRows(s *State, r *Rows) {
	for _, e := range es {
		e.collectRows(s, r)
	}
}

func (entryMended) applyTo(*State) {}
func (e entryMended) collectRows(s *State, r *Rows) {
	r.QueueMoves = append(r.QueueMoves, QueueMove{ID: e.ID, From: e.At, AcceptedAt: e.AcceptedAt})
	if m := s.QueuedMessage(e.ID); m != nil {
		r.QueueMoves = append(r.QueueMoves, m.queueMove(e.OwnTime))
	}
}

// queueMove is the move of the queue's entry from one time to Due.
func (m *Message) queueMove(from time.Time) QueueMove {
	s := m.OutgoingDelivery
	q := QueueMove{ID: m.ID, From: from, To: s.NextDue, AcceptedAt: m.ReceivedAt, AttemptLeased: s.AttemptLeased}
	if !s.NextDue.IsZero() {
		for domain := range s.PendingByDomain() {
			q.WaitingDomains = append(q.WaitingDomains, domain)
		}
		slices.Sort(q.WaitingDomains)
	}
	return q
}

// unqueue takes removed messages out of the queue.
func (r *Rows) unqueue(gone []*Message) {
	for _, m := range gone {
		if m.IsWaiting() {
			r.QueueMoves = append(r.QueueMoves, QueueMove{ID: m.ID, From: m.OutgoingDelivery.NextDue, AcceptedAt: m.ReceivedAt})
		}
	}
}

func (c Submit) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	if err := c.EncryptedParts.checkInbox(s); err != nil {
		return nil, CommandOutcome{}, err
	}
	gone, err := s.makeRoom(1, c.EncryptedParts.countedSize(c.Raw), env.Capacity, env.Now)
	if err != nil {
		return nil, CommandOutcome{}, err
	}
	ev := c.storageEvent(s, env.Now, s.LastID+1)
	return withRemoval(gone, ev), CommandOutcome{ID: ev.Message.ID}, nil
}

// storageEvent is the event that stores the message with the given id.
func (c *Submit) storageEvent(s *State, now time.Time, id int64) messageSubmitted {
	sending := &OutgoingDelivery{Status: delivery.StatusQueued, Recipients: slices.Clone(c.Recipients), NextDue: now, ServiceWritten: c.ServiceWritten}
	for i := range sending.Recipients {
		sending.Recipients[i].Status = delivery.StatusQueued
	}
	m := Message{
		ID: id, Direction: Out, ReceivedAt: now,
		ExpiresAt: now.Add(time.Duration(s.RetentionHours) * time.Hour),
		From:      c.From, Subject: c.Subject, Size: c.EncryptedParts.countedSize(c.Raw), IsRead: true,
		ThreadKey: ThreadKey(c.Content.Doc.MessageID), OutgoingDelivery: sending, EncryptedState: c.EncryptedParts.storedState(),
	}
	return messageSubmitted{m, c.Content, c.Raw, c.EncryptedParts}
}

// QueuedMessage returns the message, also a hidden one, if its status is not final, else nil. So a late
// report about a message that was removed or is final changes nothing.
func (s *State) QueuedMessage(id int64) *Message {
	if i, ok := s.indexOf(id); ok && s.Messages[i].IsWaiting() {
		return s.Messages[i]
	}
	return nil
}

func (c BeginAttempt) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m := s.QueuedMessage(c.ID)
	if m == nil {
		return nil, CommandOutcome{}, NoMessage(c.ID, s.Address)
	}
	ev := deliveryChanged{ID: c.ID, OutgoingDelivery: *m.OutgoingDelivery, DueBefore: m.OutgoingDelivery.NextDue}
	ev.OutgoingDelivery.AttemptCount++
	ev.OutgoingDelivery.NextDue, ev.OutgoingDelivery.AttemptLeased = env.Now.Add(leaseFor), true
	if ev.OutgoingDelivery.SigningResult == NotYet {
		ev.OutgoingDelivery.SigningResult, ev.SignatureFields = c.SigningResult, c.SignatureFields
	}
	return []Event{ev}, CommandOutcome{ID: c.ID, Count: ev.OutgoingDelivery.AttemptCount}, nil
}

func (c ReportAttempt) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m := s.QueuedMessage(c.ID)
	if m == nil || m.OutgoingDelivery.AttemptCount != c.AttemptNumber {
		return nil, CommandOutcome{}, nil
	}
	ev := deliveryChanged{ID: c.ID, OutgoingDelivery: *m.OutgoingDelivery, DueBefore: m.OutgoingDelivery.NextDue}
	n := &ev.OutgoingDelivery
	n.Recipients = slices.Clone(n.Recipients)
	for _, report := range c.Reports {
		n.applyReport(report, env.Now)
	}
	if c.IsDone {
		n.scheduleRetry(c.NextAttempt)
	}
	n.deriveStatus()
	ev.PublicEvent = s.statusEvent(m, n, env.Now)
	return s.finalStatusEvents(m, ev), CommandOutcome{ID: c.ID}, nil
}

func (c DeferMessages) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	outcome := CommandOutcome{AttemptCounts: make([]int, len(c.MessageDeferrals))}
	var moves movedTogether
	var gone []*Message
	var blocked []Event
	notices := uint64(0)
	for i, d := range c.MessageDeferrals {
		m := s.QueuedMessage(d.ID)
		if m == nil || !m.OutgoingDelivery.AttemptLeased && m.OutgoingDelivery.NextDue.After(c.At) {
			continue
		}
		ev := c.messageDeferred(m, d, env.Now)
		if ev.PublicEvent = s.statusEvent(m, &ev.OutgoingDelivery, env.Now); ev.PublicEvent != nil {
			ev.PublicEvent.SequenceNumber += notices
			notices++
		}
		if ev.leavesNothing(m) {
			gone = append(gone, m)
		}
		if ev.OutgoingDelivery.ownerCopyFailed() {
			blocked = s.blockCopies()
		}
		moves = append(moves, ev)
		outcome.AttemptCounts[i] = ev.OutgoingDelivery.AttemptCount
		outcome.Count++
	}
	switch {
	case len(moves) == 0:
		return nil, outcome, nil
	case len(gone) > 0:
		return append([]Event{moves, messagesRemoved{gone}}, blocked...), outcome, nil
	}
	return []Event{moves}, outcome, nil
}

func (c DeferMessages) messageDeferred(m *Message, d Deferral, now time.Time) deliveryChanged {
	ev := deliveryChanged{ID: m.ID, OutgoingDelivery: *m.OutgoingDelivery, DueBefore: m.OutgoingDelivery.NextDue}
	n := &ev.OutgoingDelivery
	n.AttemptCount++
	next, _ := c.Schedule.NextRetry(n.AttemptCount, m.ReceivedAt, now, d.Jitter)
	n.Recipients = slices.Clone(n.Recipients)
	for _, r := range n.Recipients {
		n.applyReport(AttemptReport{Email: r.Email, Outcome: delivery.OutcomeTemporary, Error: d.FailureReason}, now)
	}
	n.scheduleRetry(next.UTC().Truncate(time.Millisecond))
	n.deriveStatus()
	return ev
}

// leavesNothing reports whether a message with a final status has no reader: it was hidden, or the
// service wrote it. The latter may contain a secret link and must not stay in the store.
func (e *deliveryChanged) leavesNothing(m *Message) bool {
	return (e.OutgoingDelivery.ServiceWritten || m.IsHidden) && e.OutgoingDelivery.Status.IsFinal()
}

// finalStatusEvents adds the consequences of a final status.
func (s *State) finalStatusEvents(m *Message, ev deliveryChanged) []Event {
	evs := []Event{ev}
	if ev.leavesNothing(m) {
		evs = append(evs, messagesRemoved{[]*Message{m}})
	}
	if ev.OutgoingDelivery.ownerCopyFailed() {
		evs = append(evs, s.blockCopies()...)
	}
	return evs
}

// applyReport updates the recipients that a report is about. A final status does not change.
func (s *OutgoingDelivery) applyReport(report AttemptReport, now time.Time) {
	for i := range s.Recipients {
		r := &s.Recipients[i]
		if r.Email != report.Email || r.Status.IsFinal() {
			continue
		}
		r.Status = r.Status.AfterAttempt(report.Outcome, false, s.SigningResult == MessageSigned)
		r.MX, r.At, r.Error = report.MX, now, ""
		if report.Outcome != delivery.OutcomeDelivered {
			r.Error = report.Error
		}
	}
}

// scheduleRetry sets when the remaining recipients are attempted next; zero: never.
func (s *OutgoingDelivery) scheduleRetry(next time.Time) {
	s.NextDue, s.AttemptLeased = next, false
	for i := range s.Recipients {
		s.Recipients[i].failIfExpired(next.IsZero())
	}
}

// failIfExpired fails a waiting recipient when the schedule is over.
func (r *OutgoingRecipient) failIfExpired(expired bool) {
	if expired && !r.Status.IsFinal() {
		r.Status = delivery.StatusFailed
		if r.Error == "" {
			r.Error = "The retry period ended before a server responded"
		}
	}
}

// deriveStatus computes the message's status from its recipients. A final one leaves the queue.
func (s *OutgoingDelivery) deriveStatus() {
	s.Status, _ = s.statusAndError()
	if s.Status.IsFinal() {
		s.NextDue, s.AttemptLeased = time.Time{}, false
	}
}

// statusEvent is the public event of a status that became final. It is nil before that, and for
// messages that the service wrote.
func (s *State) statusEvent(m *Message, n *OutgoingDelivery, now time.Time) *PublicEvent {
	if !n.Status.IsFinal() || n.hasNoEvents() {
		return nil
	}
	name := "message.delivered"
	if n.Status == delivery.StatusFailed {
		name = "message.failed"
	}
	ev := s.sendEvent(name, m, n, n.visibleRecipients(), n.LastFailure(), now)
	for _, r := range n.Recipients {
		ev.Recipients = append(ev.Recipients, delivery.RecipientState{Email: r.Email, Status: r.Status})
	}
	if m.IsHidden {
		ev.RedactDeleted()
	}
	return ev
}

// visibleRecipients lists the recipients in the message header: all but the blind copies.
func (s *OutgoingDelivery) visibleRecipients() (to []string) {
	for _, r := range s.Recipients {
		if !r.Bcc {
			to = append(to, r.Email)
		}
	}
	return to
}

func (s *State) sendEvent(name string, m *Message, n *OutgoingDelivery, to []string, why string, now time.Time) *PublicEvent {
	return &PublicEvent{
		SequenceNumber: s.LastEvent + 1, EventName: name, Account: s.Account, Address: s.Address, MessageID: m.ID, At: now,
		Subject: m.Subject, To: to, SendStatus: n.Status.String(), SendError: why,
	}
}

func (c MendEntry) decideEvents(s *State, _ Env) ([]Event, CommandOutcome, error) {
	if i, ok := s.indexOf(c.ID); ok && s.Messages[i].IsDamaged {
		return nil, CommandOutcome{}, nil // it may be readable again later
	}
	ev := entryMended{ID: c.ID, At: c.At, AcceptedAt: c.AcceptedAt}
	if m := s.QueuedMessage(c.ID); m != nil {
		if m.OutgoingDelivery.NextDue.Equal(c.At) {
			return nil, CommandOutcome{}, nil
		}
		if !m.OutgoingDelivery.NextDue.Equal(c.MissingTime) {
			ev.OwnTime = m.OutgoingDelivery.NextDue
		}
	}
	return []Event{ev}, CommandOutcome{ID: c.ID, Count: 1}, nil
}

func (c Requeue) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m := s.QueuedMessage(c.ID)
	switch {
	case m == nil:
		return nil, CommandOutcome{}, fault.New(fault.NotFound, fmt.Sprintf("Message %d of %s is not in the queue", c.ID, s.Address))
	case m.OutgoingDelivery.AttemptLeased:
		return nil, CommandOutcome{}, nil // an attempt is in progress
	}
	ev := deliveryChanged{ID: c.ID, OutgoingDelivery: *m.OutgoingDelivery, DueBefore: m.OutgoingDelivery.NextDue}
	ev.OutgoingDelivery.NextDue = env.Now
	return []Event{ev}, CommandOutcome{ID: c.ID, Count: 1}, nil
}

func (c GiveUp) decideEvents(s *State, env Env) ([]Event, CommandOutcome, error) {
	m := s.QueuedMessage(c.ID)
	if m == nil {
		return nil, CommandOutcome{}, fault.New(fault.NotFound, fmt.Sprintf("Message %d of %s is not in the queue", c.ID, s.Address))
	}
	return s.finalStatusEvents(m, s.giveUp(m, c.FailureReason, env.Now)), CommandOutcome{ID: c.ID, Count: 1}, nil
}

// giveUp fails the recipients that wait.
func (s *State) giveUp(m *Message, why string, now time.Time) deliveryChanged {
	ev := deliveryChanged{ID: m.ID, OutgoingDelivery: *m.OutgoingDelivery, DueBefore: m.OutgoingDelivery.NextDue}
	n := &ev.OutgoingDelivery
	n.Recipients = slices.Clone(n.Recipients)
	for i := range n.Recipients {
		if r := &n.Recipients[i]; !r.Status.IsFinal() {
			r.Status, r.Error, r.At = delivery.StatusFailed, why, now
		}
	}
	n.deriveStatus()
	ev.PublicEvent = s.statusEvent(m, n, now)
	return ev
}

// takeBack removes a queued message. An attempt in progress may still deliver it.
func (s *State) takeBack(m *Message, now time.Time) []Event {
	const why = "Deleted before it was delivered"
	ev := s.giveUp(m, why, now)
	if ev.PublicEvent != nil {
		ev.PublicEvent.RedactDeleted()
		ev.PublicEvent.SendError = why
	}
	return []Event{ev, messagesRemoved{[]*Message{m}}}
}
