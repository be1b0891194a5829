package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"inboxd/bench/drive"
)

// EventsOptions shape the load of one event stream over a fleet. The tags are for the
// command line.
type EventsOptions struct {
	Inboxes  int     `help:"Inboxes of the one account that is followed." default:"10000" least:"1"`
	Messages int     `help:"Mails, dealt out over the inboxes." default:"10000" least:"1"`
	Rate     float64 `help:"Mails a second; 0 is as many as the server takes." default:"1000" least:"0"`
	Sessions int     `help:"SMTP sessions." default:"8" least:"1"`
	Size     int     `help:"Bytes of a mail." default:"2048" least:"1250"`
}

// eventsWithin bounds how long the last events may trail the last 250.
const eventsWithin = 30 * time.Second

// Events measures the way from a mail's final dot to its event on one stream that follows
// all inboxes of an account.
func Events(ctx context.Context, bed *Bed, opts EventsOptions) error {
	r := bed.Report
	token := RunToken()
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys[:1], opts.Inboxes, SetUpConns, func(i int) string { return token + strconv.Itoa(i) })
	if err != nil {
		return err
	}
	dots := make([]time.Time, opts.Messages)
	load := drive.MailLoad{Addr: bed.Server.SMTP, Sessions: opts.Sessions, Mails: opts.Messages, Size: opts.Size, Rate: opts.Rate, To: addresses(inboxes)}
	load.Sent = func(i int, dot time.Time) { dots[i] = dot }
	stream, err := openStream(ctx, bed.Server.HTTP, bed.Keys[0])
	if err != nil {
		return err
	}
	defer stream.Close()
	seen := make(chan error, 1)
	go func() { seen <- stream.collect(&load) }() // ends by the deadline at the latest
	accepted, err := load.Run(ctx)
	if err != nil {
		_ = stream.conn.NC.SetDeadline(time.Unix(1, 0))
		return errors.Join(err, <-seen)
	}
	_ = stream.conn.NC.SetDeadline(time.Now().Add(eventsWithin))
	if err := <-seen; err != nil {
		return err
	}
	delivered := drive.Round{Latency: drive.NewLatencies(), Count: int64(opts.Messages), Elapsed: accepted.Elapsed}
	for i, dot := range dots {
		delivered.Latency.Record(stream.at[i].Sub(dot))
	}
	r.Add(drive.AcceptedName(opts.Rate), "inboxd", accepted)
	r.Add("final dot to event", "inboxd", delivered)
	return nil
}

// eventReader is one connection that receives server-sent events.
type eventReader struct {
	conn *drive.HTTPConn
	in   *bufio.Reader
	at   []time.Time // of each mail's event
}

// openStream asks for the events of the account and reads up to the end of the first block,
// from where on no event is missed.
func openStream(ctx context.Context, host, key string) (*eventReader, error) {
	conn, err := drive.DialHTTP(ctx, host)
	if err != nil {
		return nil, err
	}
	s := &eventReader{conn: conn, in: bufio.NewReaderSize(conn.NC, 64<<10)}
	err = conn.NC.SetDeadline(time.Now().Add(drive.AnswerWithin))
	if err == nil {
		_, err = conn.NC.Write(drive.BuildRequest("GET", "/api/v1/events", host, drive.KeyHeader(key)+"\r\nAccept: text/event-stream", nil))
	}
	if err == nil {
		err = s.greeting()
	}
	if err == nil {
		err = conn.NC.SetDeadline(time.Time{}) // the context and the caller bound the rest
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	context.AfterFunc(ctx, func() { _ = conn.NC.SetDeadline(time.Unix(1, 0)) })
	return s, nil
}

func (s *eventReader) Close() error { return s.conn.Close() }

// greeting reads the head and the first block.
func (s *eventReader) greeting() error {
	line, err := s.in.ReadSlice('\n')
	if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return errors.Join(fmt.Errorf("no stream but %.80q", line), err)
	}
	for empty := 0; empty < 2 && err == nil; { // behind the head, and behind the block
		if line, err = s.in.ReadSlice('\n'); len(bytes.TrimSpace(line)) == 0 {
			empty++
		}
	}
	return err
}

// collect reads until the event of each mail was there, once.
func (s *eventReader) collect(load *drive.MailLoad) error {
	index := make(map[string]int, load.Mails)
	for i := range load.Mails {
		index[load.Code(i)] = i
	}
	s.at = make([]time.Time, load.Mails)
	for n := 0; n < load.Mails; {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the stream ended after %d of %d events: %w", n, load.Mails, err)
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		now := time.Now()
		var e struct{ Inbox, OTP string }
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("event %.200q: %w", data, err)
		}
		i, known := index[e.OTP]
		if !known || load.To[i%len(load.To)] != e.Inbox || !s.at[i].IsZero() {
			return fmt.Errorf("event %.200q is not of a mail that was sent, or came twice", data)
		}
		s.at[i] = now
		n++
	}
	return nil
}
