package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"inboxd/bench/drive"
	"inboxd/http/client"
)

// EventsOptions shape the load of one event stream over a fleet. The tags are for the
// command line.
type EventsOptions struct {
	Inboxes  int     `help:"Inboxes of the one account that is followed." default:"10000" least:"1"`
	Messages int     `help:"Messages, dealt out over the inboxes." default:"10000" least:"1"`
	Rate     float64 `help:"Messages a second; 0 is as many as the server takes." default:"1000" least:"0"`
	Sessions int     `help:"SMTP sessions." default:"8" least:"1"`
	Size     int     `help:"Bytes of a message." default:"2048" least:"1250"`
}

// eventsWithin bounds how long the last events may trail the last 250.
const eventsWithin = 30 * time.Second

// Events measures the way from a message's final dot to its event on one stream that follows
// all inboxes of an account.
func Events(ctx context.Context, bed *Bed, opts EventsOptions) error {
	r := bed.Report
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys[:1], opts.Inboxes, SetUpConns)
	if err != nil {
		return err
	}
	api := NewAPI(bed.Server.HTTP, bed.Keys[0])
	api.HTTP = nil // a stream outlives the bound of a call
	page, err := api.Events(ctx, client.EventQuery{After: client.Now})
	if err != nil {
		return err
	}
	dots, at := make([]time.Time, opts.Messages), make([]time.Time, opts.Messages)
	load := drive.MailLoad{Addr: bed.Server.SMTP, Sessions: opts.Sessions, Mails: opts.Messages, Size: opts.Size, Rate: opts.Rate, To: addresses(inboxes)}
	load.Sent = func(i int, dot time.Time) { dots[i] = dot }
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	seen := make(chan error, 1)
	go func() { seen <- collect(api.StreamEvents(ctx, client.EventQuery{After: page.Next}), &load, at) }() // ends with ctx
	accepted, err := load.Run(ctx)
	if err != nil {
		cancel(err)
		<-seen
		return err
	}
	late := time.AfterFunc(eventsWithin, func() { cancel(fmt.Errorf("not all events came within %v", eventsWithin)) })
	defer late.Stop()
	if err := <-seen; err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	delivered := drive.Round{Latency: drive.NewLatencies(), Count: int64(opts.Messages), Elapsed: accepted.Elapsed}
	for i, dot := range dots {
		delivered.Latency.Record(at[i].Sub(dot))
	}
	r.Add(drive.AcceptedName(opts.Rate), "inboxd", accepted)
	r.Add("final dot to event", "inboxd", delivered)
	return nil
}

// collect reads until the event of each message was there, once, and notes when.
func collect(events iter.Seq2[client.Event, error], load *drive.MailLoad, at []time.Time) error {
	index := make(map[string]int, load.Mails)
	for i := range load.Mails {
		index[load.Code(i)] = i
	}
	n := 0
	for e, err := range events {
		now := time.Now()
		if err != nil {
			return fmt.Errorf("the stream ended after %d of %d events: %w", n, load.Mails, err)
		}
		i, known := index[e.OTP]
		if !known || load.To[i%len(load.To)] != e.Inbox || !at[i].IsZero() {
			return fmt.Errorf("event %q of %s is not of a message that was sent, or came twice", e.OTP, e.Inbox)
		}
		at[i] = now
		if n++; n == load.Mails {
			break
		}
	}
	return nil
}
