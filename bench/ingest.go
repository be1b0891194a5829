package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"inboxd/bench/drive"
)

// IngestOptions shape the load of incoming mail. The tags are for the command line.
type IngestOptions struct {
	Messages  int     `help:"Messages a turn, each to an inbox of its own." default:"10000" least:"1" most:"200000"`
	Size      int     `help:"Bytes of a message." default:"2048" least:"1250"`
	Sessions  []int   `help:"Parallel SMTP sessions of smtp-source." default:"1,8,32,64" least:"1" most:"500"`
	Hot       int     `help:"Sessions that all write to one inbox; 0 leaves this out." default:"32" least:"0"`
	Pipelined []int   `help:"Sessions of our own pipelined loader." default:"1,32" least:"1" most:"500"`
	Encrypted int     `help:"Sessions of our own loader that deliver to encrypted inboxes and, in turn, to others; 0 leaves this out." default:"64" least:"0" most:"500"`
	Rounds    int     `help:"Turns each target gets." default:"3" least:"1"`
	Rate      float64 `help:"Messages a second for the pipelined loader instead of as many as possible." least:"0"`
	NoSource  bool    `help:"Leave smtp-source out."`
}

// A turn of the hot variant must fit into one inbox's quota.
const (
	maxHot     = 9_000
	diskTurn   = 500 * time.Millisecond
	sampleSize = 100 // inboxes whose newest message is read after a pipelined turn
)

// ingestRun is what the variants share.
type ingestRun struct {
	bed     *Bed
	opts    IngestOptions
	source  string // path of smtp-source
	sink    string // address of smtp-sink
	sinking *drive.Process
	token   string // local part of all recipients, after the number
	inboxes []Inbox
	probe   *diskProbe

	before   int64 // messages that the accounts had
	accepted int64 // messages with a 250, over all variants
	codes    int   // codes given out by the pipelined loader
}

// Ingest measures accepted messages per second next to smtp-sink, and a single session next to
// the disk's own fdatasync; then it asks the API whether what was accepted is stored.
func Ingest(ctx context.Context, bed *Bed, opts IngestOptions) error {
	if bed.Server.Attached() && opts.Encrypted > 0 {
		opts.Encrypted = 0
		bed.Report.Notes = append(bed.Report.Notes, "Encrypted inboxes need a server of its own.")
	}
	run, stop, err := prepareIngest(ctx, bed, opts)
	if err != nil {
		return err
	}
	defer stop()
	bed.Report.Notes = append(bed.Report.Notes, "smtp-source greets with HELO and does not "+
		"pipeline; our loader sends a message and the next one's MAIL, RCPT and DATA in one write.")
	if !opts.NoSource {
		for _, s := range opts.Sessions {
			if err := run.fromSource(ctx, s); err != nil {
				return err
			}
		}
		if err := run.hot(ctx); err != nil {
			return err
		}
	}
	for _, s := range opts.Pipelined {
		if err := run.pipelined(ctx, s); err != nil {
			return err
		}
	}
	return run.encrypted(ctx)
}

// prepareIngest starts the limit, creates the inboxes and opens the disk probe. The returned
// function stops and removes them.
func prepareIngest(ctx context.Context, bed *Bed, opts IngestOptions) (*ingestRun, func(), error) {
	run := &ingestRun{bed: bed, opts: opts, token: "m" + runToken()}
	var err error
	if !opts.NoSource {
		if run.source, err = lookPostfix(smtpSource); err != nil {
			return nil, nil, err
		}
	}
	if run.before, err = storedMails(ctx, bed.Server.HTTP, bed.Keys); err != nil {
		return nil, nil, err
	}
	sink, addr, err := startSink(ctx)
	if err != nil {
		return nil, nil, err
	}
	run.sink, run.sinking = addr, sink
	if run.inboxes, err = run.numbered(ctx, opts.Messages); err == nil {
		run.probe, err = openProbe(bed.dir)
	}
	if err != nil {
		return nil, nil, errors.Join(err, sink.Kill())
	}
	return run, func() { _ = run.probe.Close(); _ = sink.Kill() }, nil
}

// numbered creates the recipients that smtp-source -N counts through: 1<token>, 2<token>...
// They must share one domain, because smtp-source changes nothing else.
func (r *ingestRun) numbered(ctx context.Context, n int) ([]Inbox, error) {
	inboxes, err := r.bed.namedInboxes(ctx, r.bed.Keys, n,
		func(i int) string { return strconv.Itoa(i+1) + r.token })
	if err != nil {
		return nil, err
	}
	for i, in := range inboxes {
		if want := strconv.Itoa(i+1) + r.token + "@" + domainOf(inboxes[0].Address); in.Address != want {
			return nil, fmt.Errorf("inbox %s came out as %s; the server must run with --namespace plain", want, in.Address)
		}
	}
	return inboxes, nil
}

// fromSource lets smtp-source deliver one message to each inbox. With one session the disk takes
// part: that figure is bound by how fast it syncs.
func (r *ingestRun) fromSource(ctx context.Context, sessions int) error {
	load := sourceLoad{sessions: sessions, messages: r.opts.Messages, size: r.opts.Size,
		to: r.token + "@" + domainOf(r.inboxes[0].Address), numbered: true}
	sides := r.sourceSides(func(int) sourceLoad { return load })
	if sessions == 1 {
		sides = append(sides, r.diskSide())
	}
	return r.compare(ctx, fmt.Sprintf("smtp-source s=%d", sessions), sides)
}

// hot lets many sessions write to one inbox, a fresh one each round, so that the quota of an
// inbox never ends a run.
func (r *ingestRun) hot(ctx context.Context) error {
	if r.opts.Hot == 0 {
		return nil
	}
	inboxes, err := r.bed.namedInboxes(ctx, r.bed.Keys, r.opts.Rounds,
		func(i int) string { return "hot" + strconv.Itoa(i) + r.token })
	if err != nil {
		return err
	}
	sides := r.sourceSides(func(round int) sourceLoad {
		return sourceLoad{sessions: r.opts.Hot, messages: min(r.opts.Messages, maxHot), size: r.opts.Size, to: inboxes[round].Address}
	})
	return r.compare(ctx, fmt.Sprintf("smtp-source hot s=%d", r.opts.Hot), sides)
}

func (r *ingestRun) sourceSides(load func(round int) sourceLoad) []drive.Side {
	run := func(addr string) func(context.Context, int) (drive.Round, error) {
		return func(ctx context.Context, round int) (drive.Round, error) {
			l := load(round)
			l.addr = addr
			return l.run(ctx, r.source)
		}
	}
	return []drive.Side{{Target: "inboxd", Run: run(r.bed.Server.SMTP), Proc: r.bed.Server.Proc}, {Target: "smtp-sink", Run: run(r.sink), Proc: r.sinking}}
}

func (r *ingestRun) diskSide() drive.Side {
	return drive.Side{Target: "fdatasync", Run: func(ctx context.Context, _ int) (drive.Round, error) { return r.probe.run(ctx, diskTurn) }}
}

// pipelined lets our own loader deliver sign-in messages. After each turn a sample of the
// inboxes must show the code of that turn.
func (r *ingestRun) pipelined(ctx context.Context, sessions int) error {
	sessions = min(sessions, r.opts.Messages)
	name := fmt.Sprintf("pipelined s=%d", sessions)
	load := drive.MailLoad{Sessions: sessions, Messages: r.opts.Messages, Size: r.opts.Size, Rate: r.opts.Rate, To: addresses(r.inboxes)}
	sent := load
	ours := func(ctx context.Context, _ int) (drive.Round, error) {
		sent.Addr, sent.First = r.bed.Server.SMTP, r.codes
		r.codes += sent.Messages
		return sent.Run(ctx)
	}
	sample := func(ctx context.Context, turn int) error {
		return r.checkCodes(ctx, fmt.Sprintf("codes sampled in %s, round %d", name, turn+1), sent)
	}
	sink := func(ctx context.Context, _ int) (drive.Round, error) {
		l := load
		l.Addr = r.sink
		return l.Run(ctx)
	}
	sides := []drive.Side{{Target: "inboxd", Run: ours, Proc: r.bed.Server.Proc, Verify: sample}, {Target: "smtp-sink", Run: sink, Proc: r.sinking}}
	if sessions == 1 {
		sides = append(sides, r.diskSide())
	}
	return r.compare(ctx, name, sides)
}

// encrypted lets our own loader deliver the same messages to encrypted inboxes and to others, in
// turn. All that the first took must be there at the end.
func (r *ingestRun) encrypted(ctx context.Context) error {
	if r.opts.Encrypted == 0 {
		return nil
	}
	vaults, err := r.bed.encryptedInboxes(ctx, min(r.opts.Messages, SetUpConns*SetUpConns))
	if err != nil {
		return err
	}
	load := drive.MailLoad{Addr: r.bed.Server.SMTP, Sessions: min(r.opts.Encrypted, r.opts.Messages), Messages: r.opts.Messages, Size: r.opts.Size, Rate: r.opts.Rate, To: addresses(r.inboxes)}
	sealed := load
	sealed.To = addresses(vaults)
	load.To = load.To[:len(sealed.To)]
	var taken int64
	sides := []drive.Side{
		{Target: "encrypted", Run: func(ctx context.Context, _ int) (drive.Round, error) {
			round, err := sealed.Run(ctx)
			taken += round.Count
			return round, err
		}, Proc: r.bed.Server.Proc},
		{Target: "inboxd", Run: func(ctx context.Context, _ int) (drive.Round, error) { return load.Run(ctx) }, Proc: r.bed.Server.Proc},
	}
	results, err := drive.Alternate(ctx, fmt.Sprintf("encrypted s=%d", load.Sessions), r.opts.Rounds, sides...)
	if err != nil {
		return err
	}
	r.bed.Report.Compare(results)
	stored, err := storedMails(ctx, r.bed.Server.HTTP, []string{vaults[0].Key})
	r.bed.Report.Verify("stored encrypted", taken, stored)
	return err
}

// compare lets the sides take turns, and then asks the API whether every message that the
// server took since the beginning is there.
func (r *ingestRun) compare(ctx context.Context, name string, sides []drive.Side) error {
	results, err := drive.Alternate(ctx, name, r.opts.Rounds, sides...)
	if err != nil {
		return err
	}
	r.bed.Report.Compare(results)
	r.accepted += results[0].Count
	stored, err := storedMails(ctx, r.bed.Server.HTTP, r.bed.Keys)
	if err != nil {
		return err
	}
	r.bed.Report.Verify("stored after "+name, r.accepted, stored-r.before)
	return nil
}

// checkCodes reads the newest message of a sample of the inboxes.
func (r *ingestRun) checkCodes(ctx context.Context, name string, load drive.MailLoad) error {
	sample := min(sampleSize, load.Messages)
	var right int64
	for n := range sample {
		i := n * load.Messages / sample
		email, err := r.inboxes[i].latest(ctx, r.bed.Server.HTTP)
		if err != nil {
			return err
		}
		if email.CodeIn() == load.Code(i) {
			right++
		}
	}
	r.bed.Report.Verify(name, int64(sample), right)
	return nil
}
