// Package competitors runs mail servers of others next to ours: the same polls and the same
// messages, in alternating rounds. It knows how each is started and asked for the newest message of
// an address, and nothing else of them.
package competitors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
)

// Options shape the load. The tags are for the command line.
type Options struct {
	Mailpit     string        `help:"The mailpit binary; without, it is left out." type:"existingfile"`
	Inbucket    string        `help:"The inbucket binary; without, it is left out." type:"existingfile"`
	Inboxes     int           `help:"Addresses, each with one message and its code." default:"1000" least:"1"`
	Messages    int           `help:"Messages a turn, dealt out over the addresses." default:"2000" least:"1"`
	Size        int           `help:"Bytes of a message." default:"2048" least:"1250"`
	Sessions    []int         `help:"SMTP sessions side by side." default:"1,8,32" least:"1"`
	Connections int           `help:"Keep-alive connections that poll." default:"64" least:"1"`
	Duration    time.Duration `help:"Polling per target, over all rounds." default:"6s" least:"1ms"`
	Rounds      int           `help:"Turns each target gets." default:"3" least:"1"`
}

// target is a server that takes part.
type target struct {
	name, web, mail string
	proc            *drive.Process
	to              []string
	latest          func(address string) []byte // the request for its newest message
}

// Run compares them.
func Run(ctx context.Context, bed *bench.Bed, opts Options) (err error) {
	ours, err := own(ctx, bed, opts)
	if err != nil {
		return err
	}
	targets := []target{ours}
	defer func() {
		for _, t := range targets[1:] {
			err = errors.Join(err, t.proc.Kill()) // its data goes, too
		}
	}()
	for _, start := range []func(context.Context, string) (target, error){opts.mailpit, opts.inbucketIn("memory"), opts.inbucketIn("file")} {
		dir, err := bed.Folder("peer")
		if err != nil {
			return err
		}
		t, err := start(ctx, dir)
		if err != nil {
			return err
		}
		if t.proc == nil {
			continue
		}
		t.to = ours.to
		targets = append(targets, t)
		if err := t.proc.AwaitPorts(ctx, t.web, t.mail); err != nil {
			return err
		}
	}
	return compare(ctx, bed, targets, opts)
}

// Validate refuses a comparison with nothing, and binaries that cannot be started.
func (o Options) Validate() error {
	if o.Mailpit == "" && o.Inbucket == "" {
		return errors.New("peers needs --mailpit PATH or --inbucket PATH, or both: there is nothing to compare with")
	}
	return cmp.Or(runs("--mailpit", o.Mailpit), runs("--inbucket", o.Inbucket))
}

// runs refuses a binary that cannot be started; none is left out.
func runs(flag, binary string) error {
	if binary == "" {
		return nil
	}
	if _, err := exec.LookPath(binary); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// own is ours, whose addresses all targets use.
func own(ctx context.Context, bed *bench.Bed, opts Options) (target, error) {
	made, err := bed.CreateInboxes(ctx, bed.Keys, opts.Inboxes)
	t := target{name: "inboxd", web: bed.Server.HTTP, mail: bed.Server.SMTP, proc: bed.Server.Proc}
	keys := map[string]string{}
	for _, in := range made {
		t.to = append(t.to, in.Address)
		keys[in.Address] = in.Key
	}
	t.latest = func(address string) []byte {
		return drive.BuildRequest("GET", drive.LatestPath(address, 0, 0), t.web, drive.KeyHeader(keys[address]), nil)
	}
	return t, err
}

// mailpit keeps all messages in one list, in SQLite. The load asks for the newest of all, which is
// the fastest call.
func (o Options) mailpit(_ context.Context, dir string) (t target, err error) {
	if o.Mailpit == "" {
		return t, nil
	}
	if t, err = ports("mailpit"); err != nil {
		return t, err
	}
	t.latest = func(string) []byte { return drive.BuildRequest("GET", "/api/v1/message/latest", t.web, "", nil) }
	cmd := exec.Command(o.Mailpit, "--listen", t.web, "--smtp", t.mail, "--database", filepath.Join(dir, "mailpit.db"), "--max", "0", "--quiet", "--disable-version-check")
	t.proc, err = drive.Launch(t.name, cmd)
	return t, err
}

// inbucketIn keeps mail in memory or in files.
func (o Options) inbucketIn(store string) func(context.Context, string) (target, error) {
	return func(_ context.Context, dir string) (t target, err error) {
		if o.Inbucket == "" {
			return t, nil
		}
		if t, err = ports("inbucket, " + store); err != nil {
			return t, err
		}
		pop, err := drive.FreePort()
		if err != nil {
			return t, err
		}
		t.latest = func(address string) []byte {
			return drive.BuildRequest("GET", "/api/v1/mailbox/"+address+"/latest", t.web, "", nil)
		}
		cmd := exec.Command(o.Inbucket)
		cmd.Env = append(os.Environ(), "INBUCKET_LOGLEVEL=error", "INBUCKET_WEB_ADDR="+t.web, "INBUCKET_SMTP_ADDR="+t.mail, "INBUCKET_POP3_ADDR="+pop,
			"INBUCKET_MAILBOXNAMING=full", "INBUCKET_STORAGE_TYPE="+store, "INBUCKET_STORAGE_MAILBOXMSGCAP=0")
		if store == "file" {
			cmd.Env = append(cmd.Env, "INBUCKET_STORAGE_PARAMS=path:"+dir)
		}
		cmd.Dir = dir
		t.proc, err = drive.Launch(t.name, cmd)
		return t, err
	}
}

func ports(name string) (t target, err error) {
	t.name = name
	if t.web, err = drive.FreePort(); err == nil {
		t.mail, err = drive.FreePort()
	}
	return t, err
}

// compare lets all take messages, and then polls, in turns. All have the same messages by then.
func compare(ctx context.Context, bed *bench.Bed, targets []target, opts Options) error {
	for _, sessions := range opts.Sessions {
		var sides []drive.Side
		for _, t := range targets {
			l := drive.MailLoad{Addr: t.mail, Sessions: min(sessions, opts.Messages), Messages: opts.Messages, Size: opts.Size, To: t.to, Stepwise: true}
			sides = append(sides, drive.Side{Target: t.name, Proc: t.proc, Run: func(ctx context.Context, _ int) (drive.Round, error) { return l.Run(ctx) }})
		}
		results, err := drive.Alternate(ctx, fmt.Sprintf("messages in, s=%d", sessions), opts.Rounds, sides...)
		if err != nil {
			return err
		}
		bed.Report.Compare(results)
	}
	var sides []drive.Side
	for _, t := range targets {
		l := drive.HTTPLoad{Addr: t.web, Status: http.StatusOK, Conns: opts.Connections, Duration: opts.Duration / time.Duration(opts.Rounds), Chunked: true,
			Check: func(_ int, a drive.HTTPResponse) error {
				if len(a.Body) < 100 {
					return fmt.Errorf("a response without a message: %.100q", a.Body)
				}
				return nil
			}}
		for _, address := range t.to {
			l.Requests = append(l.Requests, t.latest(address))
		}
		sides = append(sides, drive.Side{Target: t.name, Proc: t.proc, Run: l.Run})
	}
	results, err := drive.Alternate(ctx, "the newest message", opts.Rounds, sides...)
	if err != nil {
		return err
	}
	bed.Report.Compare(results)
	bed.Report.Notes = append(bed.Report.Notes, "Messages go in a step at a time, MAIL, RCPT, DATA: not all pipeline. inboxd alone has a message on the disk when it replies 250. Mailpit is asked for the newest of all messages, the others for the newest of an address.")
	return nil
}
