package operator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"inboxd/actors"
	"inboxd/http"
	"inboxd/persist"
	"inboxd/smtp"
)

type statsCommand struct {
	JSON bool `name:"json" help:"Print all figures as JSON."`
}

// Run implements the command.
func (c *statsCommand) Run(server *Command) error {
	if !c.JSON {
		var stats Stats
		if err := server.call("/stats", nil, &stats); err != nil {
			return err
		}
		return stats.write(os.Stdout, time.Now())
	}
	var stats json.RawMessage
	if err := server.call("/stats", nil, &stats); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, stats, "", "  "); err != nil {
		return err
	}
	fmt.Println(out.String())
	return nil
}

// Stats is everything that the packages count, for `inboxd admin stats`.
type Stats struct {
	Version string        `json:"version"`
	Started time.Time     `json:"started"`
	HTTP    []http.Served `json:"http"`
	Actors  actors.Stats  `json:"actors"`
	SMTP    smtp.Stats    `json:"smtp"`
	Persist persist.Stats `json:"persist"`

	Totals *persist.Totals `json:"totals,omitempty"` // nil until they have been counted
}

// write prints the most important values.
func (s Stats) write(out io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	row("version", "%s", s.Version)
	row("up", "%s, since %s", now.Sub(s.Started).Round(time.Second), s.Started.Format(time.RFC3339))
	if t := s.Totals; t != nil {
		row("in all", "%d accounts, %d inboxes, %d messages, %s on disk", t.Accounts, t.Inboxes, t.Messages, ByteText(int64(s.Persist.EngineBytes)+t.BlobBytes))
	}
	row("in memory", "%d inboxes (%s), %d accounts", s.Actors.Inboxes, ByteText(s.Actors.InboxBytes), s.Actors.Accounts)
	row("mail in", "%d accepted (%s), %d codes found, %d connections open", s.SMTP.MailsAccepted, ByteText(int64(s.SMTP.MailBytesAccepted)), s.Actors.CodesFound, s.SMTP.Open)
	row("mail out", "%d waiting, %d delivered, %d failed, %d bounced", s.Actors.Queue.Depth, s.Actors.Queue.Delivered, s.Actors.Queue.Permanent, s.Actors.Queue.Bounced)
	if s.Actors.Queue.Depth > 0 {
		row("oldest", "%s", s.Actors.Queue.Oldest.Round(time.Minute))
	}
	if s.Actors.Held {
		row("held", "outgoing messages and webhooks of a restored backup are held. Release them with: inboxd admin queue release")
	}
	row("webhooks", "%d waiting, %d succeeded, %d failed", s.Actors.Hooks.Waiting, s.Actors.Hooks.Delivered, s.Actors.Hooks.Failed)
	for _, one := range s.HTTP {
		requests := uint64(0)
		for _, n := range one.Codes {
			requests += n
		}
		row("http "+one.Class, "%d requests, %s on average", requests, time.Duration(one.Seconds.Sum/float64(max(one.Seconds.Count, 1))*float64(time.Second)).Round(time.Microsecond))
	}
	row("disk", "%s tables, %s log, %d blobs, %s of %s free", ByteText(int64(s.Persist.TableBytes)+int64(s.Persist.ValueBytes)), ByteText(int64(s.Persist.WALBytes)),
		s.Persist.Blobs, ByteText(int64(s.Persist.DiskFree)), ByteText(int64(s.Persist.DiskTotal)))
	row("commits", "%d", s.Persist.Commits)
	if n := s.Persist.DamagedItems + s.Persist.DamagedFiles; n > 0 {
		row("damaged", "%d messages and inboxes, %d files: inboxd check", s.Persist.DamagedItems, s.Persist.DamagedFiles)
	}
	if s.Persist.Full {
		row("full", "new messages are refused because the disk is full")
	}
	return w.Flush()
}
