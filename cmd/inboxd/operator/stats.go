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
		if err := server.callServer("/stats", nil, &stats); err != nil {
			return err
		}
		return stats.writeReport(os.Stdout, time.Now())
	}
	var stats json.RawMessage
	if err := server.callServer("/stats", nil, &stats); err != nil {
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
	Version   string             `json:"version"`
	StartedAt time.Time          `json:"started"`
	HTTP      []http.ServedClass `json:"http"`
	Actors    actors.SystemStats `json:"actors"`
	SMTP      smtp.Stats         `json:"smtp"`
	Persist   persist.StoreStats `json:"persist"`

	Totals *persist.FolderTotals `json:"totals,omitempty"` // nil until they have been counted
}

// writeReport prints the most important values.
func (s Stats) writeReport(out io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	row("version", "%s", s.Version)
	row("up", "%s, since %s", now.Sub(s.StartedAt).Round(time.Second), s.StartedAt.Format(time.RFC3339))
	if t := s.Totals; t != nil {
		row("in all", "%d accounts, %d inboxes, %d messages, %s on disk", t.Accounts, t.Inboxes, t.Messages, ByteText(int64(s.Persist.EngineBytes)+t.BlobBytes))
	}
	row("in memory", "%d inboxes (%s), %d accounts", s.Actors.Inboxes, ByteText(s.Actors.InboxBytes), s.Actors.Accounts)
	row("mail in", "%d accepted (%s), %d codes found, %d connections open", s.SMTP.MailsAccepted, ByteText(int64(s.SMTP.MailBytesAccepted)), s.Actors.CodesFound, s.SMTP.OpenConnections)
	row("mail out", "%d waiting, %d delivered, %d failed, %d bounced", s.Actors.QueueStats.QueueDepth, s.Actors.QueueStats.Delivered, s.Actors.QueueStats.PermanentFailures, s.Actors.QueueStats.Bounced)
	if s.Actors.QueueStats.QueueDepth > 0 {
		row("oldest", "%s", s.Actors.QueueStats.OldestAge.Round(time.Minute))
	}
	if s.Actors.OutgoingHeld {
		row("held", "outgoing messages and webhooks of a restored backup are held. Release them with: inboxd admin queue release")
	}
	row("webhooks", "%d waiting, %d succeeded, %d failed", s.Actors.WebhookStats.Waiting, s.Actors.WebhookStats.Delivered, s.Actors.WebhookStats.Failed)
	for _, one := range s.HTTP {
		requests := uint64(0)
		for _, n := range one.CodeCounts {
			requests += n
		}
		row("http "+one.ClassName, "%d requests, %s on average", requests, time.Duration(one.Seconds.Sum/float64(max(one.Seconds.Count, 1))*float64(time.Second)).Round(time.Microsecond))
	}
	row("disk", "%s tables, %s log, %d blobs, %s of %s free", ByteText(int64(s.Persist.TableBytes)+int64(s.Persist.ValueBytes)), ByteText(int64(s.Persist.WALBytes)),
		s.Persist.BlobFiles, ByteText(int64(s.Persist.DiskFree)), ByteText(int64(s.Persist.DiskTotal)))
	row("commits", "%d", s.Persist.SyncedCommits)
	if n := s.Persist.DamagedItems + s.Persist.DamagedFiles; n > 0 {
		row("damaged", "%d messages and inboxes, %d files: inboxd check", s.Persist.DamagedItems, s.Persist.DamagedFiles)
	}
	if s.Persist.IsFull {
		row("full", "new messages are refused because the disk is full")
	}
	return w.Flush()
}
