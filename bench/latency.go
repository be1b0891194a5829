package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"inboxd/bench/drive"
	"inboxd/bench/report"
)

// LatencyOptions shape the load of single messages. An inbox holds 10,000 messages, and there are
// two kinds of reader. The tags are for the command line.
type LatencyOptions struct {
	Messages int `help:"Messages for each kind of reader, one at a time, all to one inbox." default:"500" least:"1" most:"4500"`
	Size     int `help:"Bytes of a message." default:"2048" least:"1250"`
}

// readableWithin is when a message must be readable.
const readableWithin = 30 * time.Second

// readerKind is how a reader waits for the next message.
type readerKind struct {
	name string
	wait time.Duration // of the long poll; zero asks again and again
}

// latencyRun owns one message session, one reader's connection and what they measured.
type latencyRun struct {
	inbox    Inbox
	host     string
	token    string
	mail     *drive.SMTPConn
	reader   *drive.HTTPConn
	probe    *diskProbe
	template *drive.Template

	last int64 // id of the newest message that was read
	sent int
}

// journey is what one kind of reader saw.
type journey struct{ accepted, readable drive.Round }

// Latency measures, one message at a time, the way from its final dot to the 250 and to a
// reader, next to what the disk asks for one append and sync.
func Latency(ctx context.Context, bed *Bed, opts LatencyOptions) error {
	run, err := prepareLatency(ctx, bed, opts)
	if err != nil {
		return err
	}
	defer run.close()
	kinds := []readerKind{{name: "poll"}, {name: "long poll", wait: readableWithin}}
	journeys := []journey{newJourney(), newJourney()}
	disk := drive.NewRound()
	for range opts.Messages {
		for k, kind := range kinds {
			if err := run.one(ctx, kind, &journeys[k]); err != nil {
				return errors.Join(fmt.Errorf("mail %d, reader by %s: %w", run.sent, kind.name, err), context.Cause(ctx))
			}
		}
		took, err := run.probe.once()
		if err != nil {
			return err
		}
		disk.Latency.Record(took)
		disk.Count++
	}
	reportLatency(bed.Report, kinds, journeys, disk)
	return nil
}

func newJourney() journey {
	return journey{drive.NewRound(), drive.NewRound()}
}

func prepareLatency(ctx context.Context, bed *Bed, opts LatencyOptions) (_ *latencyRun, err error) {
	run := &latencyRun{host: bed.Server.HTTP, token: runToken(), template: drive.SignInMail(time.Now(), opts.Size)}
	defer func() {
		if err != nil {
			run.close()
		}
	}()
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys[:1], 1)
	if err != nil {
		return nil, err
	}
	run.inbox = inboxes[0]
	if run.probe, err = openProbe(bed.dir); err != nil {
		return nil, err
	}
	if run.reader, err = drive.DialHTTP(ctx, run.host); err != nil {
		return nil, err
	}
	run.mail, err = drive.DialSMTP(ctx, bed.Server.SMTP)
	return run, err
}

func (r *latencyRun) close() {
	if r.probe != nil {
		_ = r.probe.Close()
	}
	if r.reader != nil {
		_ = r.reader.Close()
	}
	if r.mail != nil {
		_ = r.mail.Close()
	}
}

// sighting is a message as the reader saw it.
type sighting struct {
	email *drive.Email
	at    time.Time
	err   error
}

// one sends one message while a reader waits for it. The reader asks before the final dot is
// sent, so its first question is never the one that finds the message late.
func (r *latencyRun) one(ctx context.Context, kind readerKind, out *journey) error {
	code := drive.CodeOf(r.sent)
	r.sent++
	mail := r.template.Render(nil, code, r.token+strconv.Itoa(r.sent))
	asking, seen := make(chan struct{}), make(chan sighting, 1)
	go func() { seen <- r.read(kind, asking) }() // ends by its deadline at the latest
	<-asking
	dot, err := r.mail.Send(r.inbox.Address, mail)
	accepted := time.Since(dot)
	if err != nil {
		_ = r.reader.NC.SetDeadline(time.Unix(1, 0)) // the reader is not needed any more
		<-seen
		return err
	}
	s := <-seen
	switch {
	case s.err != nil:
		return s.err
	case s.email.CodeIn() != code:
		return fmt.Errorf("message %d carries code %q, want %q", s.email.ID, s.email.CodeIn(), code)
	}
	r.last = s.email.ID
	out.accepted.Latency.Record(accepted)
	out.readable.Latency.Record(s.at.Sub(dot))
	out.accepted.Count++
	out.readable.Count++
	return nil
}

// read asks for a message newer than the last until there is one.
func (r *latencyRun) read(kind readerKind, asking chan<- struct{}) (s sighting) {
	request := drive.BuildRequest("GET", drive.LatestPath(r.inbox.Address, r.last, kind.wait), r.host, drive.KeyHeader(r.inbox.Key), nil)
	s.err = r.reader.NC.SetDeadline(time.Now().Add(readableWithin + drive.ResponseWithin))
	close(asking)
	for until := time.Now().Add(readableWithin); s.err == nil && s.email == nil; {
		var response drive.HTTPResponse
		if response, s.err = r.reader.Do(request); s.err != nil {
			return s
		}
		s.at = time.Now()
		if response.Status != 200 {
			s.err = fmt.Errorf("status %d: %s", response.Status, drive.DetailOf(response.Body))
			return s
		}
		if s.email, s.err = drive.ParseLatest(response.Body); s.email == nil && s.at.After(until) {
			s.err = fmt.Errorf("not readable within %v", readableWithin)
		}
	}
	return s
}

// reportLatency sets each way next to one append and sync of the disk.
func reportLatency(out *report.Report, kinds []readerKind, journeys []journey, disk drive.Round) {
	limit := drive.Result{Name: "append + fdatasync", Target: "disk"}
	limit.Fill(disk)
	add := func(name string, r drive.Round) {
		res := drive.Result{Name: name, Target: "inboxd"}
		res.Fill(r)
		if res.Latency != nil && limit.Latency != nil && limit.Latency.P50 > 0 {
			res.Values = map[string]float64{"p50 in fdatasyncs": res.Latency.P50 / limit.Latency.P50}
		}
		out.Results = append(out.Results, res)
	}
	for k, kind := range kinds {
		add("final dot to 250 (next to "+kind.name+")", journeys[k].accepted)
		add("final dot to "+kind.name, journeys[k].readable)
	}
	out.Results = append(out.Results, limit)
}
