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
)

// EventsOptions shape the load of one event stream over a fleet. The tags are for the
// command line.
type EventsOptions struct {
	Inboxes  int     `help:"Inboxes of the one account that is followed." default:"10000"`
	Mails    int     `help:"Mails, dealt out over the inboxes." default:"10000"`
	Rate     float64 `help:"Mails a second; 0 is as many as the server takes." default:"1000"`
	Sessions int     `help:"SMTP sessions." default:"8"`
	Size     int     `help:"Bytes of a mail." default:"2048"`
}

// eventsWithin bounds how long the last events may trail the last 250.
const eventsWithin = 30 * time.Second

// Events measures the way from a mail's final dot to its event on one stream that follows
// all inboxes of an account.
func Events(ctx context.Context, bed *Bed, opts EventsOptions) error {
	err := atLeastOne(map[string]int{"--inboxes": opts.Inboxes, "--mails": opts.Mails, "--sessions": opts.Sessions, "--size": opts.Size})
	if err != nil {
		return err
	}
	r := bed.Report
	r.Load["inboxes"], r.Load["mails"], r.Load["rate"], r.Load["sessions"], r.Load["bytes"] = opts.Inboxes, opts.Mails, opts.Rate, opts.Sessions, opts.Size
	token := runToken()
	inboxes, err := createInboxes(ctx, bed.Server.HTTP, bed.Keys[:1], opts.Inboxes, setUpConns, func(i int) string { return token + strconv.Itoa(i) })
	if err != nil {
		return err
	}
	dots := make([]time.Time, opts.Mails)
	load := mailLoad{addr: bed.Server.SMTP, sessions: opts.Sessions, mails: opts.Mails, size: opts.Size, rate: opts.Rate, to: addresses(inboxes)}
	load.sent = func(i int, dot time.Time) { dots[i] = dot }
	stream, err := openStream(ctx, bed.Server.HTTP, bed.Keys[0])
	if err != nil {
		return err
	}
	defer stream.Close()
	seen := make(chan error, 1)
	go func() { seen <- stream.collect(&load) }() // ends by the deadline at the latest
	accepted, err := load.run(ctx)
	if err != nil {
		_ = stream.conn.nc.SetDeadline(time.Unix(1, 0))
		return errors.Join(err, <-seen)
	}
	_ = stream.conn.nc.SetDeadline(time.Now().Add(eventsWithin))
	if err := <-seen; err != nil {
		return err
	}
	delivered := Round{latency: newLatencies(), Count: int64(opts.Mails), Elapsed: accepted.Elapsed}
	for i, dot := range dots {
		delivered.latency.record(stream.at[i].Sub(dot))
	}
	r.add(acceptedName(opts.Rate), accepted)
	r.add("final dot to event", delivered)
	return nil
}

// eventReader is one connection that receives server-sent events.
type eventReader struct {
	conn *httpConn
	in   *bufio.Reader
	at   []time.Time // of each mail's event
}

// openStream asks for the events of the account and reads up to the end of the first block,
// from where on no event is missed.
func openStream(ctx context.Context, host, key string) (*eventReader, error) {
	conn, err := dialHTTP(ctx, host)
	if err != nil {
		return nil, err
	}
	s := &eventReader{conn: conn, in: bufio.NewReaderSize(conn.nc, 64<<10)}
	err = conn.nc.SetDeadline(time.Now().Add(apiTimeout))
	if err == nil {
		_, err = conn.nc.Write(buildRequest("GET", "/api/v1/events", host, keyHeader(key)+"\r\nAccept: text/event-stream", nil))
	}
	if err == nil {
		err = s.greeting()
	}
	if err == nil {
		err = conn.nc.SetDeadline(time.Time{}) // the context and the caller bound the rest
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	context.AfterFunc(ctx, func() { _ = conn.nc.SetDeadline(time.Unix(1, 0)) })
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
func (s *eventReader) collect(load *mailLoad) error {
	index := make(map[string]int, load.mails)
	for i := range load.mails {
		index[load.code(i)] = i
	}
	s.at = make([]time.Time, load.mails)
	for n := 0; n < load.mails; {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the stream ended after %d of %d events: %w", n, load.mails, err)
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
		if !known || load.to[i%len(load.to)] != e.Inbox || !s.at[i].IsZero() {
			return fmt.Errorf("event %.200q is not of a mail that was sent, or came twice", data)
		}
		s.at[i] = now
		n++
	}
	return nil
}
