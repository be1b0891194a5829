// Command inbox-bench loads an inbox server on this machine over its public surfaces and
// reports figures next to the limits measured in the same run. See bench/README.md.
package main

//lint:file-ignore SA5008 kong reads each set tag of a command: one for each default

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
	Report  string        `help:"Also write the report as one HTML page with plots to FILE." placeholder:"FILE"`
	Timeout time.Duration `help:"Bound of the whole run." default:"15m" least:"1ms"`

	Server bench.ServerOptions `embed:""`

	settings map[string]any // of the load that runs, by the names of its flags

	Poll     bench.PollOptions     `cmd:"" help:"GET /latest next to a constant response of the same size."`
	Ingest   bench.IngestOptions   `cmd:"" help:"Messages received per second next to smtp-sink and the disk."`
	Latency  bench.LatencyOptions  `cmd:"" help:"Final dot to 250, to a poll and to a long poll."`
	Start    bench.StartOptions    `cmd:"" help:"Start to first read, and memory, with many inboxes." set:"inboxes=100000" set:"messages=10000"`
	Scale    bench.StartOptions    `cmd:"" help:"The same with a million inboxes and messages, next to what is promised." set:"inboxes=1000000" set:"messages=1000000"`
	OTP      bench.OTPOptions      `cmd:"" name:"otp" help:"Precision and recall of the codes found in a folder of messages."`
	Webhooks bench.WebhooksOptions `cmd:"" help:"Messages received with and without webhooks, and final dot to webhook."`
	Send     bench.SendOptions     `cmd:"" help:"The 202 of a send next to fdatasync and messages received, and the drain of the queue."`
	Calendar bench.CalendarOptions `cmd:"" help:"Invitations received, lists and feeds of meetings, meetings made, expensive files."`
	Tools    toolcalls.Options     `cmd:"" help:"The tools of inbox-mcp next to the plain calls: waits for codes, and lists."`
	Mixed    mixed.Options         `cmd:"" help:"Polls, messages received and sent, and webhooks of a fleet at the same time, at given rates, second by second."`
	Overload mixed.OverloadOptions `cmd:"" help:"Four times what the server can do: right responses, refusals, and the time to recover."`
	Restart  mixed.RestartOptions  `cmd:"" help:"SIGTERM and kill -9 under the load of a fleet: the time to the first read, and what was accepted."`
	Peers    competitors.Options   `cmd:"" help:"Messages received and polls next to Mailpit and Inbucket, whose binaries are given."`
	Compare  compareCmd            `cmd:"" help:"Two reports of one load, figure by figure, with confidence intervals."`
	Constant constantCmd           `cmd:"" help:"Serve the constant response that poll compares with."`
}

type compareCmd struct {
	A string `arg:"" help:"Report by --json of the run before." type:"existingfile"`
	B string `arg:"" help:"Report by --json of the run after." type:"existingfile"`
}

type constantCmd struct {
	HTTP   string `name:"http" help:"Address on loopback." default:"127.0.0.1:0"`
	Status int    `help:"200, or 304 without a body." default:"200"`
	Size   int    `help:"Bytes of the body, or of the head where there is none." default:"600"`
}

func main() {
	var c cli
	kctx := kong.Parse(&c, kong.Name("inbox-bench"), kong.Vars{"version": version.ProgramLine("inbox-bench")},
		kong.Description("Loads an inbox server on this machine and reports figures next to their limits."))
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	defer stop()
	c.settings = settingsOf(kctx)
	kctx.FatalIfErrorf(c.runCommand(ctx, kctx.Selected().Name))
}

// Validate checks the bounds of the options before anything runs. Kong then calls the Validate of
// the load's own options, if they have one.
func (c *cli) Validate(kctx *kong.Context) error { return checkBounds(kctx.Flags()) }

// endSignals are the signals that end a run, which then removes what it made. nohup has SIGHUP
// ignored, and it stays so.
func endSignals() []os.Signal {
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

// loadCommand is a command that measures a server.
type loadCommand func(context.Context, *bench.Bed) error

// on is a load with its options.
func on[O any](run func(context.Context, *bench.Bed, O) error, opts O) loadCommand {
	return func(ctx context.Context, bed *bench.Bed) error { return run(ctx, bed, opts) }
}

func (c *cli) loadCommands() map[string]loadCommand {
	return map[string]loadCommand{
		"poll":     on(bench.Poll, c.Poll),
		"ingest":   on(bench.Ingest, c.Ingest),
		"latency":  on(bench.Latency, c.Latency),
		"start":    on(bench.Start, c.Start),
		"scale":    on(bench.Scale, c.Scale),
		"otp":      on(bench.OTP, c.OTP),
		"webhooks": on(bench.Webhooks, c.Webhooks),
		"send":     on(bench.Send, c.Send),
		"calendar": on(bench.Calendar, c.Calendar),
		"tools":    on(toolcalls.Run, c.Tools),
		"mixed":    on(mixed.Run, c.Mixed),
		"overload": on(mixed.Overload, c.Overload),
		"restart":  on(mixed.Restart, c.Restart),
		"peers":    on(competitors.Run, c.Peers),
	}
}

// runCommand runs one command, on a server as its load needs it.
func (c *cli) runCommand(ctx context.Context, name string) error {
	switch name {
	case "compare":
		return c.Compare.runComparison()
	case "constant":
		return fakes.Constant(ctx, c.Constant.HTTP, c.Constant.Status, c.Constant.Size, os.Stdout)
	case "start", "scale", "send", "calendar", "webhooks", "restart":
		c.Server.Own = true
	}
	switch name {
	case "send", "calendar", "mixed", "overload", "restart":
		c.Server.ServeArgs = append(c.Server.ServeArgs, "--log-level=warn")
	}
	if name == "send" {
		c.Server.Accounts = max(c.Server.Accounts, c.Send.Rounds+1)
	}
	return c.measureLoad(ctx, name, c.loadCommands()[name])
}

func (cmd *compareCmd) runComparison() error {
	a, err := report.Read(cmd.A)
	if err != nil {
		return err
	}
	b, err := report.Read(cmd.B)
	if err != nil {
		return err
	}
	return report.Compare(os.Stdout, a, b)
}

// measureLoad prepares the bed, runs one load on it, reports, and fails when what was measured
// is not right. Everything made and started is removed and stopped before it returns.
func (c *cli) measureLoad(ctx context.Context, name string, run loadCommand) (err error) {
	if err := c.checkWritable(); err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // else a closed pipe ends the process before it has removed what it made
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("not done within --timeout %v", c.Timeout))
	defer cancel()
	shown := progress.New(os.Stderr)
	defer shown.Close()
	bed, err := bench.Prepare(ctx, "inbox-bench "+name, c.Server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	maps.Copy(bed.Report.Load, c.settings)
	if err := run(drive.Watch(ctx, shown.Show), bed); err != nil {
		return err
	}
	shown.Close()
	return errors.Join(c.writeReport(bed.Report), bed.Report.Err())
}

// checkWritable opens the files that the report goes to before anything runs, and leaves their content
// alone.
func (c *cli) checkWritable() error {
	for flag, path := range map[string]string{"--json": c.JSON, "--report": c.Report} {
		if path == "" || path == "-" {
			continue
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		f.Close()
	}
	return nil
}

// writeReport prints the table, except where the JSON takes standard output, and writes the files. One
// that fails does not keep the others from being written.
func (c *cli) writeReport(r *report.Report) error {
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
