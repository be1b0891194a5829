// Command inbox-bench loads an inbox server on this machine over its public surfaces and
// reports figures beside the limits measured in the same run. See bench/README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"inboxd/bench"
	"inboxd/bench/competitors"
	"inboxd/bench/drive"
	"inboxd/bench/fakes"
	"inboxd/bench/flame"
	"inboxd/bench/mixed"
	"inboxd/bench/progress"
	"inboxd/bench/report"
	"inboxd/bench/toolcalls"
	"inboxd/internal/base/version"
)

// cli is the command line. The loads' own flags are declared with their options in bench.
type cli struct {
	Version kong.VersionFlag `help:"Print the version."`

	JSON    string        `name:"json" help:"Also write the report as JSON to FILE, - for standard output." placeholder:"FILE"`
	Report  string        `help:"Also write the report as one page with plots." placeholder:"FILE.html"`
	Timeout time.Duration `help:"Bound of the whole run." default:"15m"`

	Server bench.ServerOptions `embed:""`

	settings map[string]any // of the load that runs, by the names of its flags

	Poll     pollCmd     `cmd:"" help:"GET /latest beside a constant answer of the same size."`
	Ingest   ingestCmd   `cmd:"" help:"Mails in per second beside smtp-sink and the disk."`
	Latency  latencyCmd  `cmd:"" help:"Final dot to 250, to a poll and to a long poll."`
	Start    startCmd    `cmd:"" help:"Start to first read, and memory, with many inboxes."`
	OTP      otpCmd      `cmd:"" name:"otp" help:"Precision and recall of the codes found in a folder of mails."`
	Waiters  waitersCmd  `cmd:"" help:"Long polls that wait: memory of each, and mail to all."`
	Events   eventsCmd   `cmd:"" help:"Final dot to event on one stream over many inboxes."`
	Webhooks webhooksCmd `cmd:"" help:"Mail in with and without webhooks, and final dot to webhook."`
	Send     sendCmd     `cmd:"" help:"The 202 of a send beside fdatasync and mail in, and the queue behind it."`
	Calendar calendarCmd `cmd:"" help:"Meetings: invitations in, lists and feeds, meetings made, what they weigh."`
	Page     pageCmd     `cmd:"" help:"The page for people beside constant answers of its size."`
	Tools    toolsCmd    `cmd:"" help:"The tool server beside the plain calls: waits, lists, start-up, memory."`
	Mixed    mixedCmd    `cmd:"" help:"What a fleet does all at once: polls, mails in and out, webhooks, at a given rate, second by second."`
	Overload overloadCmd `cmd:"" help:"Four times what the server can do: what it still does, how it refuses the rest, how soon it is back."`
	Restart  restartCmd  `cmd:"" help:"SIGTERM and kill -9 under the load of a fleet: time to the first read, and what was acknowledged."`
	Scale    scaleCmd    `cmd:"" help:"A million inboxes: making, holding, starting again, cold reads, hot polls."`
	Backup   backupCmd   `cmd:"" help:"Mail in at a rate, with and without a backup in the middle; each copy is checked."`
	Peers    peersCmd    `cmd:"" help:"Mails in and polls beside Mailpit and Inbucket, whose binaries are given."`
	Compare  compareCmd  `cmd:"" help:"Two reports of one load, figure by figure, with confidence intervals."`
	Flame    flameCmd    `cmd:"" help:"A processor profile as a picture of who called what for how long."`
	Constant constantCmd `cmd:"" help:"Serve the constant answer that poll compares with."`
}

// Validate is asked, as that of each load's options, before anything runs.
func (c *cli) Validate() error {
	return drive.AtLeast(time.Millisecond, map[string]time.Duration{"--timeout": c.Timeout})
}

type pollCmd struct {
	Options bench.PollOptions `embed:""`
}

type ingestCmd struct {
	Options bench.IngestOptions `embed:""`
}

type latencyCmd struct {
	Options bench.LatencyOptions `embed:""`
}

type startCmd struct {
	Options bench.StartOptions `embed:""`
}

type otpCmd struct {
	Options bench.OTPOptions `embed:""`
}

type waitersCmd struct {
	Options bench.WaitersOptions `embed:""`
}

type eventsCmd struct {
	Options bench.EventsOptions `embed:""`
}

type webhooksCmd struct {
	Options bench.WebhooksOptions `embed:""`
}

type sendCmd struct {
	Options bench.SendOptions `embed:""`
}

type calendarCmd struct {
	Options bench.CalendarOptions `embed:""`
}

type pageCmd struct {
	Options bench.PageOptions `embed:""`
}

type toolsCmd struct {
	Options toolcalls.Options `embed:""`
}

type mixedCmd struct {
	Options mixed.Options `embed:""`
}

type overloadCmd struct {
	Options mixed.OverloadOptions `embed:""`
}

type restartCmd struct {
	Options mixed.RestartOptions `embed:""`
}

type scaleCmd struct {
	Options bench.ScaleOptions `embed:""`
}

type backupCmd struct {
	Options bench.BackupOptions `embed:""`
}

type peersCmd struct {
	Options competitors.Options `embed:""`
}

type compareCmd struct {
	A         string  `arg:"" help:"Report by --json of the run before." type:"existingfile"`
	B         string  `arg:"" help:"Report by --json of the run after." type:"existingfile"`
	FailBelow float64 `help:"Fail when a figure is significantly below so much of what it was, 0.95 for example."`
}

type flameCmd struct {
	Profile string `arg:"" help:"Profile as pprof gives it." type:"existingfile"`
	Out     string `arg:"" help:"SVG to write." type:"path"`
	Title   string `help:"What stands above the picture."`
}

type constantCmd struct {
	HTTP   string `name:"http" help:"Address on loopback." default:"127.0.0.1:0"`
	Status int    `help:"200, or 304 without a body." default:"200"`
	Size   int    `help:"Bytes of the body, or of the head where there is none." default:"600"`
}

func main() {
	var c cli
	kctx := kong.Parse(&c, kong.Name("inbox-bench"), kong.Vars{"version": version.Line("inbox-bench")},
		kong.Description("Loads an inbox server on this machine and reports figures beside their limits."))
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	defer stop()
	c.settings = settingsOf(kctx)
	kctx.BindTo(ctx, (*context.Context)(nil))
	kctx.FatalIfErrorf(kctx.Run(&c))
}

// endings are the signals that end a run, which then removes what it made. nohup has SIGHUP ignored, and it stays so.
func endings() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// settingsOf are the flags of the load itself, and of the others those that shape every load.
func settingsOf(kctx *kong.Context) map[string]any {
	settings := map[string]any{}
	for _, flags := range kctx.Flags() {
		own := kctx.Selected() != nil && slices.Contains(kctx.Selected().Flags, flags)
		if !own && flags.Name != "accounts" && flags.Name != "serve-arg" {
			continue
		}
		switch v := flags.Target.Interface().(type) {
		case fmt.Stringer:
			settings[flags.Name] = v.String()
		default:
			settings[flags.Name] = fmt.Sprint(v)
		}
	}
	return settings
}

func (cmd *pollCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "poll", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Poll(ctx, bed, cmd.Options)
	})
}

func (cmd *ingestCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "ingest", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Ingest(ctx, bed, cmd.Options)
	})
}

func (cmd *latencyCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "latency", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Latency(ctx, bed, cmd.Options)
	})
}

func (cmd *startCmd) Run(ctx context.Context, c *cli) error {
	return c.alone(ctx, "start", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Start(ctx, bed, cmd.Options)
	})
}

func (cmd *otpCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "otp", func(ctx context.Context, bed *bench.Bed) error {
		return bench.OTP(ctx, bed, cmd.Options)
	})
}

func (cmd *waitersCmd) Run(ctx context.Context, c *cli) error {
	return c.alone(ctx, "waiters", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Waiters(ctx, bed, cmd.Options)
	})
}

func (cmd *eventsCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "events", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Events(ctx, bed, cmd.Options)
	})
}

func (cmd *webhooksCmd) Run(ctx context.Context, c *cli) error {
	c.Server.ServeArgs = append(c.Server.ServeArgs, bench.WebhookServeArgs()...)
	return c.measure(ctx, "webhooks", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Webhooks(ctx, bed, cmd.Options)
	})
}

func (cmd *sendCmd) Run(ctx context.Context, c *cli) error {
	c.Server.Accounts = max(c.Server.Accounts, cmd.Options.Rounds+1)
	return c.alone(ctx, "send", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Send(ctx, bed, cmd.Options)
	})
}

func (cmd *calendarCmd) Run(ctx context.Context, c *cli) error {
	return c.alone(ctx, "calendar", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Calendar(ctx, bed, cmd.Options)
	})
}

func (cmd *pageCmd) Run(ctx context.Context, c *cli) error {
	return c.alone(ctx, "page", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Page(ctx, bed, cmd.Options)
	})
}

func (cmd *toolsCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "tools", func(ctx context.Context, bed *bench.Bed) error {
		return toolcalls.Run(ctx, bed, cmd.Options)
	})
}

func (cmd *mixedCmd) Run(ctx context.Context, c *cli) error {
	return c.withHosts(ctx, "mixed", func(ctx context.Context, bed *bench.Bed, hosts mixed.Hosts) error {
		return mixed.Run(ctx, bed, hosts, cmd.Options)
	})
}

func (cmd *overloadCmd) Run(ctx context.Context, c *cli) error {
	return c.withHosts(ctx, "overload", func(ctx context.Context, bed *bench.Bed, hosts mixed.Hosts) error {
		return mixed.Overload(ctx, bed, hosts, cmd.Options)
	})
}

func (cmd *restartCmd) Run(ctx context.Context, c *cli) error {
	c.Server.Own = true
	return c.withHosts(ctx, "restart", func(ctx context.Context, bed *bench.Bed, hosts mixed.Hosts) error {
		return mixed.Restart(ctx, bed, hosts, cmd.Options)
	})
}

func (cmd *scaleCmd) Run(ctx context.Context, c *cli) error {
	return c.alone(ctx, "scale", func(ctx context.Context, bed *bench.Bed) error { return bench.Scale(ctx, bed, cmd.Options) })
}

func (cmd *backupCmd) Run(ctx context.Context, c *cli) error {
	return c.alone(ctx, "backup", func(ctx context.Context, bed *bench.Bed) error { return bench.Backup(ctx, bed, cmd.Options) })
}

func (cmd *peersCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "peers", func(ctx context.Context, bed *bench.Bed) error { return competitors.Run(ctx, bed, cmd.Options) })
}

// withHosts is measure for the loads of package mixed, which start servers beside the one that is measured.
func (c *cli) withHosts(ctx context.Context, name string, load func(context.Context, *bench.Bed, mixed.Hosts) error) error {
	hosts, err := mixed.Host(&c.Server)
	if err != nil {
		return err
	}
	err = c.measure(ctx, name, func(ctx context.Context, bed *bench.Bed) error { return load(ctx, bed, hosts) })
	return errors.Join(err, hosts.Close())
}

func (cmd *constantCmd) Run(ctx context.Context) error {
	return fakes.Constant(ctx, cmd.HTTP, cmd.Status, cmd.Size, os.Stdout)
}

// Run compares, and fails where something got worse than it may.
func (cmd *compareCmd) Run() error {
	a, err := report.Read(cmd.A)
	if err != nil {
		return err
	}
	b, err := report.Read(cmd.B)
	if err != nil {
		return err
	}
	c, err := report.CompareReports(a, b)
	if err != nil {
		return err
	}
	return errors.Join(c.Write(os.Stdout), c.Below(cmd.FailBelow))
}

func (cmd *flameCmd) Run() error {
	in, err := os.Open(cmd.Profile)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(cmd.Out)
	if err != nil {
		return err
	}
	return errors.Join(flame.Draw(out, in, cmd.Title), out.Close())
}

// alone is measure for a load that needs a server of its own.
func (c *cli) alone(ctx context.Context, name string, load func(context.Context, *bench.Bed) error) error {
	c.Server.Own = true
	return c.measure(ctx, name, load)
}

// measure prepares the bed, runs one load on it, reports, and fails when what was measured
// is not right. Everything made and started is removed and stopped before it returns.
func (c *cli) measure(ctx context.Context, name string, load func(context.Context, *bench.Bed) error) (err error) {
	if err := c.writable(); err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // else a write to who has gone ends the process, and all that was made stays
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("not done within --timeout %v", c.Timeout))
	defer cancel()
	shown := progress.New(os.Stderr)
	defer shown.Close()
	bed, err := bench.Prepare(ctx, "inbox-bench "+name, c.Server)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, bed.Close())
		shown.Close()
		for _, says := range bed.Stay() {
			fmt.Fprintln(os.Stderr, "inbox-bench: "+says)
		}
	}()
	if bed.Server.Remote {
		fmt.Fprintf(os.Stderr, "inbox-bench: %s and %s are not this machine; they are loaded all the same, as --yes-remote says.\n", c.Server.BaseURL, c.Server.SMTP)
	}
	maps.Copy(bed.Report.Load, c.settings)
	if err := load(drive.Watch(ctx, shown.Show), bed); err != nil {
		return err
	}
	shown.Close()
	return errors.Join(c.report(bed.Report), bed.Report.Err())
}

// writable tries the files that the report goes to, before anything runs.
func (c *cli) writable() error {
	if c.Report != "" {
		if err := report.Writable(c.Report); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	if c.JSON != "" && c.JSON != "-" {
		if err := report.Writable(c.JSON); err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	return nil
}

// report prints the table, except where the JSON takes standard output, and then writes the files, each
// whatever became of the others.
func (c *cli) report(r *report.Report) error {
	var errs []error
	if c.JSON != "-" {
		errs = append(errs, r.WriteTable(os.Stdout))
	}
	if c.JSON != "" {
		errs = append(errs, r.WriteJSON(c.JSON))
	}
	if c.Report != "" {
		errs = append(errs, r.WriteHTML(c.Report))
	}
	return errors.Join(errs...)
}
