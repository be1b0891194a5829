package mixed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"inboxd/bench/drive"
)

const (
	checkEvery = 64                     // polls that pass between two whose response is read
	redial     = 100 * time.Millisecond // after a connection that could not be made
)

// line is a connection to the API that is made again when it breaks.
type line struct {
	r    *run
	conn *drive.HTTPConn
	made time.Time
}

// do asks, and makes the connection first if there is none.
func (l *line) do(ctx context.Context, request []byte) (response drive.HTTPResponse, err error) {
	if l.conn == nil {
		l.made = time.Now()
		if l.conn, err = drive.DialHTTP(ctx, l.r.web); err != nil {
			l.conn = nil
			return response, rest(ctx, err)
		}
	}
	if err = l.conn.NC.SetDeadline(time.Now().Add(drive.ResponseWithin)); err == nil {
		response, err = l.conn.Do(request)
	}
	if err != nil {
		l.close()
	}
	return response, err
}

func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.Close()
		l.conn = nil
	}
}

// rest waits a little after err, so that a server that is down is not asked all the time.
func rest(ctx context.Context, err error) error {
	select {
	case <-time.After(redial):
	case <-ctx.Done():
	}
	return err
}

// pollAgents asks for the newest message of the k-th part of the agents, each when it is due.
func (r *run) pollAgents(ctx context.Context, p pace, k, all int) error {
	from, to := drive.Share(len(r.agents), k, all)
	agents := make([]int, to-from)
	for i := range agents {
		agents[i] = from + i
	}
	slices.SortFunc(agents, func(a, b int) int { return cmp.Compare(r.phases[a], r.phases[b]) })
	phases := make([]time.Duration, len(agents))
	for i, agent := range agents {
		phases[i] = time.Duration(float64(r.phases[agent]) / p.factor)
	}
	agenda := drive.NewAgenda(p.start, p.end, time.Duration(float64(r.fleet.Every)/p.factor), phases)
	l := line{r: r}
	defer l.close()
	for n := k; ; n++ {
		i, due, ok := agenda.Next()
		if !ok || ctx.Err() != nil {
			break
		}
		agent := agents[i]
		response, err := l.do(ctx, r.requests[agent])
		switch {
		case ctx.Err() != nil:
		case err != nil:
			r.broke(r.polls, l.made, err.Error())
		case r.countResponse(r.polls, l.made, response, 200, due) && n%checkEvery == 0:
			r.checkPoll(agent, response.Body)
		}
	}
	agenda.Unsent(r.polls.Unsent)
	return context.Cause(ctx)
}

// checkPoll wants the code of a message that was sent to that agent, or none.
func (r *run) checkPoll(agent int, body []byte) {
	email, err := drive.ParseLatest(body)
	if err != nil {
		r.polls.Fail(fmt.Sprintf("latest of %s: %v", r.agents[agent].Address, err))
		return
	}
	if code := email.CodeIn(); code != "" && r.ledger.agentOf(code) != agent {
		r.polls.Fail(fmt.Sprintf("latest of %s: code %s is not of a message to it", r.agents[agent].Address, code))
	}
}

// deliverMessages delivers messages, each when it is due, to one agent after the other.
func (r *run) deliverMessages(ctx context.Context, p pace, k, all int) error {
	pacer := drive.NewPacer(p.start, p.end, r.fleet.Mails*p.factor, k, all)
	s := session{r: r}
	defer s.close()
	mail := make([]byte, 0, 2*r.fleet.Size)
	for {
		_, due, ok := pacer.Next()
		if !ok || ctx.Err() != nil {
			break
		}
		n := int(r.messagesBegun.Add(1) - 1)
		if n >= drive.Codes {
			return errTooMany
		}
		code, agent := drive.CodeOf(n), n%len(r.agents)
		mail = r.template.Render(mail[:0], code, strconv.FormatInt(r.began.UnixMicro(), 36)+strconv.Itoa(n))
		err := s.send(ctx, code, agent, mail)
		var said *drive.Reply
		switch {
		case err == nil:
			r.messages.Record(time.Since(due))
		case errors.As(err, &said) && said.Code == 451:
			r.messages.Refuse(err.Error())
		case ctx.Err() == nil:
			r.broke(r.messages, s.made, fmt.Sprintf("message to %s: %v", r.agents[agent].Address, err))
		}
	}
	pacer.Unsent(r.messages.Unsent)
	return context.Cause(ctx)
}

// session is an SMTP session that is made again when it breaks.
type session struct {
	r    *run
	conn *drive.SMTPConn
	made time.Time
}

// send delivers one message and keeps the book of it.
func (s *session) send(ctx context.Context, code string, agent int, mail []byte) (err error) {
	if s.conn == nil {
		s.made = time.Now()
		if s.conn, err = drive.DialSMTP(ctx, s.r.smtp); err != nil {
			s.conn = nil
			return rest(ctx, err)
		}
	}
	err = s.conn.NC.SetDeadline(time.Now().Add(drive.ResponseWithin))
	if err == nil {
		err = s.conn.Envelope(drive.Bounces, s.r.agents[agent].Address)
	}
	if err == nil {
		s.r.ledger.begin(code, agent)
		_, err = s.conn.Data(mail)
	}
	if err == nil {
		s.r.ledger.accepted(code)
	} else if !drive.IsReply(err) {
		s.close()
	}
	return err
}

func (s *session) close() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// sendMessages has agents send messages, each when it is due.
func (r *run) sendMessages(ctx context.Context, p pace, k, all int) error {
	pacer := drive.NewPacer(p.start, p.end, r.fleet.Sends*p.factor, k, all)
	l := line{r: r}
	defer l.close()
	for {
		_, due, ok := pacer.Next()
		if !ok || ctx.Err() != nil {
			break
		}
		n := r.sendsBegun.Add(1) - 1
		response, err := l.do(ctx, r.outgoing(n))
		switch {
		case ctx.Err() != nil:
		case err != nil:
			r.broke(r.sends, l.made, err.Error())
		case r.countResponse(r.sends, l.made, response, 202, due):
			r.ledger.sent(n)
		}
	}
	pacer.Unsent(r.sends.Unsent)
	return context.Cause(ctx)
}
