package smtp

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"inboxd/smtp/lines"
)

// receiveData reads the body, unless BDAT already did, and returns the reply for the whole message.
func (s *session) receiveData() *smtpReply {
	if !s.tx.body.isComplete {
		s.beginBody(true)
		if err := s.receiveBody(s.tx.body.appendWire); err != nil {
			return s.abortConnection(err)
		}
		s.tx.body.isComplete = true
	}
	return s.finishMessage()
}

// beginBody starts the body of the transaction. The recipients are final from here on.
func (s *session) beginBody(dots bool) {
	env := &s.tx.env
	env.ID = s.srv.newID()
	env.Helo = printableHelo(s.helo())
	env.RemoteIP, env.TLS, env.SMTPUTF8 = s.peer.addr, s.isTLS, s.tx.utf8
	env.ReceivedAt = s.srv.now()
	pooled := bodyBuffers.Get().(*[]byte)
	buf := appendTrace((*pooled)[:0], env, s.srv.opts.Domain, s.esmtp)
	env.TraceLen = len(buf)
	s.tx.body = messageBody{
		dataDecoder: lines.DataDecoder{DotStuffed: dots}, buf: buf, pooledBuffer: pooled, traceLength: len(buf), maxOctets: s.srv.opts.MaxMessageBytes,
		announcedSize: s.tx.declaredSize, budgetShare: s.budgetShare(), progress: s.bodyProgress(),
	}
}

func (s *session) bodyProgress() lines.Progress {
	return lines.NewProgress(s.srv.opts.ProgressTimeout, s.srv.opts.TransferTimeout)
}

// receiveBody passes input to take until take is done or the peer is too slow. The time spent waiting
// for the peer is not counted as time of the command.
func (s *session) receiveBody(take func(part []byte) (n int, done bool)) error {
	s.commandTimer.startedAt = time.Time{}
	body := &s.tx.body
	for {
		n, done := take(s.UnreadBytes())
		s.Skip(n)
		switch {
		case done:
			s.commandTimer.startedAt = time.Now()
			return nil
		case body.exceedsDropLimit():
			return body.refusalReply
		}
		before := len(s.UnreadBytes())
		if err := s.AwaitMore(body.progress.NextDeadline); err != nil {
			return err
		}
		body.progress.AddOctets(len(s.UnreadBytes())-before, body.chargedOctets)
	}
}

// abortConnection closes a connection during a body, because what follows on it is not a command.
func (s *session) abortConnection(err error) *smtpReply {
	s.isClosing = true
	var r *smtpReply
	switch {
	case errors.As(err, &r):
	case errors.Is(err, os.ErrDeadlineExceeded):
		r = replySlow
	default:
		r = replyBroken
	}
	return s.recordRefusal(r)
}

// finishMessage stores a complete message and returns the reply.
func (s *session) finishMessage() *smtpReply {
	if r := s.tx.body.refusalReply; r != nil {
		return s.recordRefusal(r)
	}
	env := s.tx.env
	env.OnStored = s.noteStored
	if isLooping(s.tx.body.buf[env.TraceLen:]) {
		return s.recordRefusal(replyLoop)
	}
	raw := s.tx.body.takeMessage()
	env.ReceivedAt = s.srv.now()
	stampTrace(raw[:env.TraceLen], env.ReceivedAt)
	if err := s.srv.storeMessage(env, raw); err != nil {
		// raw is not pooled again after an error: something may still read it.
		return s.replyToError(err, slog.String("id", env.ID))
	}
	s.tx.body.giveBack(raw)
	s.srv.stats.acceptedMessages.Add(1)
	s.srv.stats.acceptedOctets.Add(uint64(len(raw)))
	s.tx.storedOctets = len(raw)
	return newReply("protocol", 250, 0, 0, "OK, stored as "+env.ID)
}

// storedIn is an inbox that stored the message, and the message's id there.
type storedIn struct {
	inbox string
	id    int64
}

func (s *session) noteStored(inbox string, id int64) {
	s.tx.storedCopies = append(s.tx.storedCopies, storedIn{inbox, id})
}

// logStored logs the message whose 250 was just sent, one line per inbox that stored it. A search
// for an inbox and an id then finds everything that happened to a message.
func (s *session) logStored() {
	if s.tx.storedOctets == 0 {
		return
	}
	env, all := &s.tx.env, s.tx.storedCopies
	if len(all) == 0 {
		all = []storedIn{{inbox: env.RcptTo[0]}} // a report on a sent message, which no inbox stores
	}
	for _, in := range all {
		s.srv.log.LogAttrs(s.srv.ctx, slog.LevelInfo, "received", slog.String("id", env.ID), slog.String("from", env.MailFrom),
			slog.String("inbox", in.inbox), slog.Int64("message_id", in.id), slog.Int("octets", s.tx.storedOctets))
	}
}

// storeMessage passes a message to InboxReceiver and measures how long that takes. go-smtp recovers
// a panic.
func (s *Server) storeMessage(env Envelope, raw []byte) error {
	began := time.Now()
	s.pushback.beginStore(began)
	defer func() {
		ended := time.Now()
		s.pushback.endStore(began, ended)
		s.stats.storeDurations.ObserveBetween(began, ended)
	}()
	return s.inboxes.Receive(s.ctx, env, raw)
}
