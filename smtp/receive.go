package smtp

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"inboxd/smtp/lines"
)

// data reads the body, unless BDAT already did, and returns the reply for the whole message.
func (s *session) data() *reply {
	if !s.tx.body.whole {
		s.begin(true)
		if err := s.receive(s.tx.body.add); err != nil {
			return s.abort(err)
		}
		s.tx.body.whole = true
	}
	return s.finish()
}

// begin starts the body of the transaction. The recipients are final from here on.
func (s *session) begin(dots bool) {
	env := &s.tx.env
	env.ID = s.srv.newID()
	env.Helo = printableHelo(s.helo())
	env.RemoteIP, env.TLS, env.SMTPUTF8 = s.peer.addr, s.secure, s.tx.utf8
	env.ReceivedAt = s.srv.now()
	pooled := bodyBuffers.Get().(*[]byte)
	buf := appendTrace((*pooled)[:0], env, s.srv.opts.Domain, s.esmtp)
	env.TraceLen = len(buf)
	s.tx.body = body{
		lines: lines.Discipline{Dots: dots}, buf: buf, pooled: pooled, trace: len(buf), limit: s.srv.opts.MaxMessageBytes,
		announced: s.tx.size, share: s.share(), progress: s.progress(),
	}
}

func (s *session) progress() lines.Progress {
	return lines.NewProgress(s.srv.opts.ProgressTimeout, s.srv.opts.TransferTimeout)
}

// receive passes input to take until take is done or the peer is too slow. The time spent waiting
// for the peer is not counted as time of the command.
func (s *session) receive(take func(part []byte) (n int, done bool)) error {
	s.timed.began = time.Time{}
	body := &s.tx.body
	for {
		n, done := take(s.Unread())
		s.Skip(n)
		switch {
		case done:
			s.timed.began = time.Now()
			return nil
		case body.hopeless():
			return body.refusal
		}
		before := len(s.Unread())
		if err := s.More(body.progress.Until); err != nil {
			return err
		}
		body.progress.Moved(len(s.Unread())-before, body.charged)
	}
}

// abort closes a connection during a body, because what follows on it is not a command.
func (s *session) abort(err error) *reply {
	s.closing = true
	var r *reply
	switch {
	case errors.As(err, &r):
	case errors.Is(err, os.ErrDeadlineExceeded):
		r = replySlow
	default:
		r = replyBroken
	}
	return s.refuse(r)
}

// finish stores a complete message and returns the reply.
func (s *session) finish() *reply {
	if r := s.tx.body.refusal; r != nil {
		return s.refuse(r)
	}
	env := s.tx.env
	env.Stored = s.noteStored
	if isLooping(s.tx.body.buf[env.TraceLen:]) {
		return s.refuse(replyLoop)
	}
	raw := s.tx.body.take()
	env.ReceivedAt = s.srv.now()
	stampTrace(raw[:env.TraceLen], env.ReceivedAt)
	if err := s.srv.store(env, raw); err != nil {
		// raw is not pooled again after an error: something may still read it.
		return s.fail(err, slog.String("id", env.ID))
	}
	s.tx.body.giveBack(raw)
	s.srv.stats.accepted.Add(1)
	s.srv.stats.acceptedOctets.Add(uint64(len(raw)))
	s.tx.octets = len(raw)
	return newReply("protocol", 250, 0, 0, "OK, stored as "+env.ID)
}

// storedIn is an inbox that stored the message, and the message's id there.
type storedIn struct {
	inbox string
	id    int64
}

func (s *session) noteStored(inbox string, id int64) {
	s.tx.stored = append(s.tx.stored, storedIn{inbox, id})
}

// logStored logs the message whose 250 was just sent, one line per inbox that stored it. A search
// for an inbox and an id then finds everything that happened to a message.
func (s *session) logStored() {
	if s.tx.octets == 0 {
		return
	}
	env, all := &s.tx.env, s.tx.stored
	if len(all) == 0 {
		all = []storedIn{{inbox: env.RcptTo[0]}} // a report on a sent message, which no inbox stores
	}
	for _, in := range all {
		s.srv.log.LogAttrs(s.srv.ctx, slog.LevelInfo, "received", slog.String("id", env.ID), slog.String("from", env.MailFrom),
			slog.String("inbox", in.inbox), slog.Int64("message_id", in.id), slog.Int("octets", s.tx.octets))
	}
}

// store passes a message to Inboxes and measures how long that takes. go-smtp recovers a panic.
func (s *Server) store(env Envelope, raw []byte) error {
	began := time.Now()
	s.pushback.begin(began)
	defer func() {
		ended := time.Now()
		s.pushback.end(began, ended)
		s.stats.stored.Between(began, ended)
	}()
	return s.inboxes.Receive(s.ctx, env, raw)
}
