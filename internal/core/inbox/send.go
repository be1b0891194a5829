package inbox

import (
	"fmt"
	"slices"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/delivery"
)

// moved is a change of a sending to the state that Decide computed.
type moved struct {
	ID      int64
	Sending Sending
	Fields  []byte // signature fields to store; nil: none
	From    time.Time
	Public  *Public
}

// entryMended is an entry of the queue at a time that is not the message's own. Own is the
// message's own time in the index, zero if it has none.
type entryMended struct {
	ID             int64
	At, Since, Own time.Time
}

// movedTogether are changes of different messages.
type movedTogether []moved

// hidden are queued messages that are no longer readable.
type hidden []*Message

func (e hidden) apply(s *State) {
	s.Messages = slices.Clone(s.Messages)
	for _, m := range e {
		if i, ok := s.find(m.ID); ok {
			m := *m
			m.Hidden = true
			s.Messages[i] = &m
		}
	}
}
func (e hidden) rows(s *State, r *Rows) {
	for _, m := range e {
		r.put(s, m.ID)
	}
}

type submitted struct {
	Message Message
	Content *Content
	Raw     []byte
	Sealed  *Sealing
}

func (e submitted) apply(s *State) {
	m := e.Message
	s.Add(&m)
	s.LastID = m.ID
}
func (e submitted) rows(s *State, r *Rows) {
	r.profile(s)
	m := s.Messages[len(s.Messages)-1]
	r.Put = append(r.Put, m)
	r.Store = append(r.Store, store(m.ID, e.Content, e.Raw, e.Sealed))
	r.Queue = append(r.Queue, m.entry(time.Time{}))
}

func (e moved) apply(s *State) { movedTogether{e}.apply(s) }
func (e moved) rows(s *State, r *Rows) {
	r.put(s, e.ID)
	if i, ok := s.find(e.ID); ok && !(e.From.IsZero() && e.Sending.Due.IsZero()) { // the domains may differ even if the time does not
		r.Queue = append(r.Queue, s.Messages[i].entry(e.From))
	}
	if e.Fields != nil {
		r.Sign = append(r.Sign, Fields{e.ID, e.Fields})
	}
	if e.Public != nil {
		r.profile(s)
		r.Public = append(r.Public, *e.Public)
	}
	r.settle(s, e.ID)
}

// settle removes what was stored for the attempts of an encrypted message when its status is final.
// From then on only its envelope is stored.
func (r *Rows) settle(s *State, id int64) {
	if i, ok := s.find(id); ok && s.Messages[i].Sealed != nil && !s.Messages[i].Waiting() {
		r.Settled = append(r.Settled, s.Messages[i])
	}
}

// apply copies the list once for all of them, because views keep the old one.
func (es movedTogether) apply(s *State) {
	s.Messages = slices.Clone(s.Messages)
	for _, e := range es {
		if e.Public != nil {
			s.LastEvent = e.Public.Number
		}
		i, ok := s.find(e.ID)
		if !ok {
			continue
		}
		m := *s.Messages[i]
		m.Sending = new(e.Sending)
		s.Messages[i] = &m
		if e.Sending.Status.Final() {
			s.dueBy(m.ExpiresAt) // retention may remove it from now on
		}
	}
}
func (es movedTogether) rows(s *State, r *Rows) {
	for _, e := range es {
		e.rows(s, r)
	}
}

func (entryMended) apply(*State) {}
func (e entryMended) rows(s *State, r *Rows) {
	r.Queue = append(r.Queue, Queued{ID: e.ID, From: e.At, Since: e.Since})
	if m := s.Queued(e.ID); m != nil {
		r.Queue = append(r.Queue, m.entry(e.Own))
	}
}

// entry is the move of the queue's entry from one time to Due.
func (m *Message) entry(from time.Time) Queued {
	s := m.Sending
	q := Queued{ID: m.ID, From: from, To: s.Due, Since: m.ReceivedAt, Leased: s.Leased}
	if !s.Due.IsZero() {
		for domain := range s.Pending() {
			q.Domains = append(q.Domains, domain)
		}
		slices.Sort(q.Domains)
	}
	return q
}

// unqueue takes removed messages out of the queue.
func (r *Rows) unqueue(gone []*Message) {
	for _, m := range gone {
		if m.Waiting() {
			r.Queue = append(r.Queue, Queued{ID: m.ID, From: m.Sending.Due, Since: m.ReceivedAt})
		}
	}
}

func (c Submit) decide(s *State, env Env) ([]Event, Outcome, error) {
	if err := c.Sealed.check(s); err != nil {
		return nil, Outcome{}, err
	}
	gone, err := s.makeRoom(1, c.Sealed.sized(c.Raw), env.Capacity, env.Now)
	if err != nil {
		return nil, Outcome{}, err
	}
	ev := c.submitted(s, env.Now, s.LastID+1)
	return instead(gone, ev), Outcome{ID: ev.Message.ID}, nil
}

// submitted is the event that stores the message with the given id.
func (c *Submit) submitted(s *State, now time.Time, id int64) submitted {
	sending := &Sending{Status: delivery.Queued, Recipients: slices.Clone(c.Recipients), Due: now, Auto: c.Auto}
	for i := range sending.Recipients {
		sending.Recipients[i].Status = delivery.Queued
	}
	m := Message{
		ID: id, Direction: Out, ReceivedAt: now,
		ExpiresAt: now.Add(time.Duration(s.RetentionHours) * time.Hour),
		From:      c.From, Subject: c.Subject, Size: c.Sealed.sized(c.Raw), Read: true,
		Thread: ThreadKey(c.Content.Doc.MessageID), Sending: sending, Sealed: c.Sealed.sealed(),
	}
	return submitted{m, c.Content, c.Raw, c.Sealed}
}

// Queued returns the message, also a hidden one, if its status is not final, else nil. So a late
// report about a message that was removed or is final changes nothing.
func (s *State) Queued(id int64) *Message {
	if i, ok := s.find(id); ok && s.Messages[i].Waiting() {
		return s.Messages[i]
	}
	return nil
}

func (c Attempt) decide(s *State, env Env) ([]Event, Outcome, error) {
	m := s.Queued(c.ID)
	if m == nil {
		return nil, Outcome{}, NoMessage(c.ID, s.Address)
	}
	ev := moved{ID: c.ID, Sending: *m.Sending, From: m.Sending.Due}
	ev.Sending.Attempts++
	ev.Sending.Due, ev.Sending.Leased = env.Now.Add(leaseFor), true
	if ev.Sending.Signature == NotYet {
		ev.Sending.Signature, ev.Fields = c.Signed, c.Fields
	}
	return []Event{ev}, Outcome{ID: c.ID, Count: ev.Sending.Attempts}, nil
}

func (c Attempted) decide(s *State, env Env) ([]Event, Outcome, error) {
	m := s.Queued(c.ID)
	if m == nil || m.Sending.Attempts != c.Attempt {
		return nil, Outcome{}, nil
	}
	ev := moved{ID: c.ID, Sending: *m.Sending, From: m.Sending.Due}
	n := &ev.Sending
	n.Recipients = slices.Clone(n.Recipients)
	for _, report := range c.Reports {
		n.report(report, env.Now)
	}
	if c.Done {
		n.again(c.Next)
	}
	n.derive()
	ev.Public = s.notice(m, n, env.Now)
	return s.ended(m, ev), Outcome{ID: c.ID}, nil
}

func (c Defer) decide(s *State, env Env) ([]Event, Outcome, error) {
	outcome := Outcome{Each: make([]int, len(c.Mails))}
	var moves movedTogether
	var gone []*Message
	var blocked []Event
	notices := uint64(0)
	for i, d := range c.Mails {
		m := s.Queued(d.ID)
		if m == nil || !m.Sending.Leased && m.Sending.Due.After(c.At) {
			continue
		}
		ev := c.one(m, d, env.Now)
		if ev.Public = s.notice(m, &ev.Sending, env.Now); ev.Public != nil {
			ev.Public.Number += notices
			notices++
		}
		if ev.leavesNothing(m) {
			gone = append(gone, m)
		}
		if ev.Sending.refused() {
			blocked = s.blockCopies()
		}
		moves = append(moves, ev)
		outcome.Each[i] = ev.Sending.Attempts
		outcome.Count++
	}
	switch {
	case len(moves) == 0:
		return nil, outcome, nil
	case len(gone) > 0:
		return append([]Event{moves, removed{gone}}, blocked...), outcome, nil
	}
	return []Event{moves}, outcome, nil
}

func (c Defer) one(m *Message, d Deferral, now time.Time) moved {
	ev := moved{ID: m.ID, Sending: *m.Sending, From: m.Sending.Due}
	n := &ev.Sending
	n.Attempts++
	next, _ := c.Schedule.Next(n.Attempts, m.ReceivedAt, now, d.Jitter)
	n.Recipients = slices.Clone(n.Recipients)
	for _, r := range n.Recipients {
		n.report(Report{Email: r.Email, Outcome: delivery.Temporary, Error: d.Why}, now)
	}
	n.again(next.UTC().Truncate(time.Millisecond))
	n.derive()
	return ev
}

// leavesNothing reports whether a message with a final status has no reader: it was hidden, or the
// service wrote it. The latter may contain a secret link and must not stay in the store.
func (e *moved) leavesNothing(m *Message) bool {
	return (e.Sending.Auto || m.Hidden) && e.Sending.Status.Final()
}

// ended adds the consequences of a final status.
func (s *State) ended(m *Message, ev moved) []Event {
	evs := []Event{ev}
	if ev.leavesNothing(m) {
		evs = append(evs, removed{[]*Message{m}})
	}
	if ev.Sending.refused() {
		evs = append(evs, s.blockCopies()...)
	}
	return evs
}

// report updates the recipients that a report is about. A final status does not change.
func (s *Sending) report(report Report, now time.Time) {
	for i := range s.Recipients {
		r := &s.Recipients[i]
		if r.Email != report.Email || r.Status.Final() {
			continue
		}
		r.Status = r.Status.After(report.Outcome, false, s.Signature == Signed)
		r.MX, r.At, r.Error = report.MX, now, ""
		if report.Outcome != delivery.Delivered {
			r.Error = report.Error
		}
	}
}

// again sets when the remaining recipients are attempted next; zero: never.
func (s *Sending) again(next time.Time) {
	s.Due, s.Leased = next, false
	for i := range s.Recipients {
		s.Recipients[i].settle(next.IsZero())
	}
}

// settle fails a waiting recipient when the schedule is over.
func (r *Recipient) settle(expired bool) {
	if expired && !r.Status.Final() {
		r.Status = delivery.Failed
		if r.Error == "" {
			r.Error = "The retry period ended before a server responded"
		}
	}
}

// derive computes the message's status from its recipients. A final one leaves the queue.
func (s *Sending) derive() {
	s.Status, _ = s.outcome()
	if s.Status.Final() {
		s.Due, s.Leased = time.Time{}, false
	}
}

// notice is the public event of a status that became final. It is nil before that, and for messages
// that the service wrote.
func (s *State) notice(m *Message, n *Sending, now time.Time) *Public {
	if !n.Status.Final() || n.unseen() {
		return nil
	}
	name := "message.delivered"
	if n.Status == delivery.Failed {
		name = "message.failed"
	}
	ev := s.sendEvent(name, m, n, n.addressed(), n.Reason(), now)
	for _, r := range n.Recipients {
		ev.Recipients = append(ev.Recipients, delivery.Recipient{Email: r.Email, Status: r.Status})
	}
	if m.Hidden {
		ev.Forget()
	}
	return ev
}

// addressed lists the recipients in the message header: all but the blind copies.
func (s *Sending) addressed() (to []string) {
	for _, r := range s.Recipients {
		if !r.Bcc {
			to = append(to, r.Email)
		}
	}
	return to
}

func (s *State) sendEvent(name string, m *Message, n *Sending, to []string, why string, now time.Time) *Public {
	return &Public{
		Number: s.LastEvent + 1, Name: name, Account: s.Account, Address: s.Address, MessageID: m.ID, At: now,
		Subject: m.Subject, To: to, SendStatus: n.Status.String(), SendError: why,
	}
}

func (c MendEntry) decide(s *State, _ Env) ([]Event, Outcome, error) {
	if i, ok := s.find(c.ID); ok && s.Messages[i].Damaged {
		return nil, Outcome{}, nil // it may be readable again later
	}
	ev := entryMended{ID: c.ID, At: c.At, Since: c.Since}
	if m := s.Queued(c.ID); m != nil {
		if m.Sending.Due.Equal(c.At) {
			return nil, Outcome{}, nil
		}
		if !m.Sending.Due.Equal(c.Missing) {
			ev.Own = m.Sending.Due
		}
	}
	return []Event{ev}, Outcome{ID: c.ID, Count: 1}, nil
}

func (c Requeue) decide(s *State, env Env) ([]Event, Outcome, error) {
	m := s.Queued(c.ID)
	switch {
	case m == nil:
		return nil, Outcome{}, fault.New(fault.NotFound, fmt.Sprintf("Message %d of %s is not in the queue", c.ID, s.Address))
	case m.Sending.Leased:
		return nil, Outcome{}, nil // an attempt is in progress
	}
	ev := moved{ID: c.ID, Sending: *m.Sending, From: m.Sending.Due}
	ev.Sending.Due = env.Now
	return []Event{ev}, Outcome{ID: c.ID, Count: 1}, nil
}

func (c GiveUp) decide(s *State, env Env) ([]Event, Outcome, error) {
	m := s.Queued(c.ID)
	if m == nil {
		return nil, Outcome{}, fault.New(fault.NotFound, fmt.Sprintf("Message %d of %s is not in the queue", c.ID, s.Address))
	}
	return s.ended(m, s.giveUp(m, c.Why, env.Now)), Outcome{ID: c.ID, Count: 1}, nil
}

// giveUp fails the recipients that wait.
func (s *State) giveUp(m *Message, why string, now time.Time) moved {
	ev := moved{ID: m.ID, Sending: *m.Sending, From: m.Sending.Due}
	n := &ev.Sending
	n.Recipients = slices.Clone(n.Recipients)
	for i := range n.Recipients {
		if r := &n.Recipients[i]; !r.Status.Final() {
			r.Status, r.Error, r.At = delivery.Failed, why, now
		}
	}
	n.derive()
	ev.Public = s.notice(m, n, now)
	return ev
}

// takeBack removes a queued message. An attempt in progress may still deliver it.
func (s *State) takeBack(m *Message, now time.Time) []Event {
	const why = "Deleted before it was delivered"
	ev := s.giveUp(m, why, now)
	if ev.Public != nil {
		ev.Public.Forget()
		ev.Public.SendError = why
	}
	return []Event{ev, removed{[]*Message{m}}}
}
