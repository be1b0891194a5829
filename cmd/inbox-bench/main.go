// Command inbox-bench loads an inbox server on this machine over its public surfaces and
// reports figures beside the limits measured in the same run. See bench/README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"inboxd/bench"
	"inboxd/bench/peer"
	"inboxd/bench/toolcalls"
	"inboxd/internal/version"
)

// cli is the command line. The loads' own flags are declared with their options in bench.
type cli struct {
	Version kong.VersionFlag `help:"Print the version."`

	JSON    string        `name:"json" help:"Also write the report as JSON to FILE, - for standard output." placeholder:"FILE"`
	Timeout time.Duration `help:"Bound of the whole run." default:"15m"`

	Server bench.ServerOptions `embed:""`

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
	Tools    toolsCmd    `cmd:"" help:"The tool server beside the plain calls: waits, lists, start-up, memory."`
	Constant constantCmd `cmd:"" help:"Serve the constant answer that poll compares with."`
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

type toolsCmd struct {
	Options toolcalls.Options `embed:""`
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	kctx.BindTo(ctx, (*context.Context)(nil))
	kctx.FatalIfErrorf(kctx.Run(&c))
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
	return c.measure(ctx, "start", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Start(ctx, bed, cmd.Options)
	})
}

func (cmd *otpCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "otp", func(ctx context.Context, bed *bench.Bed) error {
		return bench.OTP(ctx, bed, cmd.Options)
	})
}

func (cmd *waitersCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "waiters", func(ctx context.Context, bed *bench.Bed) error {
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
	return c.measure(ctx, "send", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Send(ctx, bed, cmd.Options)
	})
}

func (cmd *calendarCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "calendar", func(ctx context.Context, bed *bench.Bed) error {
		return bench.Calendar(ctx, bed, cmd.Options)
	})
}

func (cmd *toolsCmd) Run(ctx context.Context, c *cli) error {
	return c.measure(ctx, "tools", func(ctx context.Context, bed *bench.Bed) error {
		return toolcalls.Run(ctx, bed, cmd.Options)
	})
}

func (cmd *constantCmd) Run(ctx context.Context) error {
	return peer.Constant(ctx, cmd.HTTP, cmd.Status, cmd.Size, os.Stdout)
}

// measure prepares the bed, runs one load on it, reports, and fails when what was measured
// is not right. Everything started is stopped before it returns.
func (c *cli) measure(ctx context.Context, name string, load func(context.Context, *bench.Bed) error) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("not done within --timeout %v", c.Timeout))
	defer cancel()
	bed, err := bench.Prepare(ctx, "inbox-bench "+name, c.Server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	if err := load(ctx, bed); err != nil {
		return err
	}
	if err := c.report(bed.Report); err != nil {
		return err
	}
	return bed.Report.Err()
}

// report prints the table, except where the JSON takes standard output.
func (c *cli) report(r *bench.Report) error {
	if c.JSON == "-" {
		return r.WriteJSON(c.JSON)
	}
	if c.JSON != "" {
		if err := r.WriteJSON(c.JSON); err != nil {
			return err
		}
	}
	return r.WriteTable(os.Stdout)
}
