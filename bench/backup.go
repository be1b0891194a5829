package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"inboxd/bench/drive"
)

// BackupOptions shape the load of mail next to backups. The tags are for the command line.
type BackupOptions struct {
	Inboxes  int           `help:"Inboxes that get the message." default:"2000" least:"1"`
	Rate     float64       `help:"Messages a second." default:"2000" above:"0"`
	Size     int           `help:"Bytes of a message." default:"2048" least:"1250"`
	Sessions int           `help:"SMTP sessions." default:"32" least:"1"`
	Duration time.Duration `help:"How long a turn lasts." default:"10s" least:"1s"`
	Rounds   int           `help:"Turns without a backup, and as many with one." default:"5" least:"1"`
}

// backupPromise is how many times longer a message may wait while a backup is made.
const backupPromise = 2

// Validate refuses more messages than there are codes.
func (o BackupOptions) Validate() error {
	if all := o.Rate * o.Duration.Seconds() * 2 * float64(o.Rounds); all > drive.Codes {
		return fmt.Errorf("--rate, --duration, --rounds: %.0f messages in all, at most %d have a code of their own", all, drive.Codes)
	}
	return nil
}

// Backup sends mail at a rate, in turns without a backup and turns with one that begins in their middle, and has each
// copy checked. It needs a server of its own.
func Backup(ctx context.Context, bed *Bed, opts BackupOptions) error {
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys, opts.Inboxes, opts.Sessions)
	if err != nil {
		return err
	}
	run := backupRun{bed: bed, opts: opts, copies: drive.NewRound(), load: drive.MailLoad{Addr: bed.Server.SMTP, Sessions: opts.Sessions,
		Mails: int(opts.Rate * opts.Duration.Seconds()), Size: opts.Size, Rate: opts.Rate, To: addresses(inboxes)}}
	results, err := drive.Alternate(ctx, "mails, due to 250", opts.Rounds,
		drive.Side{Target: "beside a backup", Run: run.beside, Proc: bed.Server.Process(), Verify: run.check},
		drive.Side{Target: "alone", Run: run.alone, Proc: bed.Server.Process()})
	if err != nil {
		return err
	}
	bed.Report.Compare(results)
	bed.Report.Add("backup, start of the command to its end", "inboxd", run.copies)
	bed.Report.Verify("backups that are whole", int64(opts.Rounds), run.whole)
	if with, without := results[0].Latency, results[1].Latency; with != nil && without != nil {
		bed.Report.Promised("p99 beside a backup, to that alone", with.P99/without.P99, backupPromise, true)
	}
	return nil
}

// backupRun is what the turns share.
type backupRun struct {
	bed    *Bed
	opts   BackupOptions
	load   drive.MailLoad
	copies drive.Round // how long the command took
	whole  int64       // backups that were checked and are whole
	last   string      // folder of the newest
}

func (r *backupRun) alone(ctx context.Context, _ int) (drive.Round, error) {
	round, err := r.load.Run(ctx)
	r.load.First += r.load.Mails
	return round, err
}

// beside has a backup made in the middle of a turn.
func (r *backupRun) beside(ctx context.Context, n int) (round drive.Round, _ error) {
	return round, drive.Parallel(ctx, 2, func(ctx context.Context, k int) (err error) {
		if k == 0 {
			round, err = r.alone(ctx, n)
			return err
		}
		select {
		case <-time.After(r.opts.Duration / 2):
			return r.copy(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

func (r *backupRun) copy(ctx context.Context) error {
	home, err := r.bed.Folder("backup-")
	if err != nil {
		return err
	}
	r.last = filepath.Join(home, "copy")
	began := time.Now()
	if err := r.inboxd(ctx, "admin", "--data", r.bed.Server.Data, "backup", r.last); err != nil {
		return err
	}
	r.copies.Record(time.Since(began))
	r.copies.Elapsed += time.Since(began)
	return nil
}

// check reads the newest backup, outside of what is measured, and removes it.
func (r *backupRun) check(ctx context.Context, _ int) error {
	if err := r.inboxd(ctx, "check", r.last); err != nil {
		return err
	}
	r.whole++
	return os.RemoveAll(filepath.Dir(r.last))
}

// inboxd runs the server's program for a command of its own.
func (r *backupRun) inboxd(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, r.bed.Server.binary, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("inboxd %s: %w\n%s", args[0], err, out)
	}
	return nil
}
