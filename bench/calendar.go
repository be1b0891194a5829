package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"inboxd/bench/drive"
	"inboxd/http/client"
)

// CalendarOptions shape the load of meetings. The tags are for the command line.
type CalendarOptions struct {
	Messages        int           `help:"Messages a turn, each with an invitation of its own." default:"3000" least:"1"`
	Inboxes         int           `help:"Inboxes that they go to." default:"100" least:"1"`
	Sessions        int           `help:"SMTP sessions side by side." default:"8" least:"1"`
	Meetings        int           `help:"Meetings in the list and in the feed, at most 500." default:"500" least:"1" most:"500"`
	Connections     int           `help:"Keep-alive connections that read them." default:"8" least:"1"`
	Duration        time.Duration `help:"Measured time per target, over all rounds." default:"6s" least:"1ms"`
	Posts           int           `help:"Meetings a turn that clients make." default:"1000" least:"1"`
	PostConnections int           `help:"Keep-alive connections that make them." default:"16" least:"1"`
	Hostile         int           `help:"Messages a turn with a file that asks for as much work as it can." default:"20" least:"1"`
	Rounds          int           `help:"Turns each target gets." default:"3" least:"1"`
	Parts           []string      `help:"What is measured: messages, reads, posts, hostile." default:"messages,reads,posts,hostile"`
}

const (
	maxListed   = 1000 // meetings of one page (specification, Calendar)
	invitedText = 2048 // octets of a calendar file
)

// calendarRun owns what the parts share.
type calendarRun struct {
	*sendRun
	opts       CalendarOptions
	invitation *drive.Template
}

// Calendar measures what meetings cost: a message with an invitation next to messages of its size,
// the list and the feed of many next to constant responses of theirs, a meeting that a client makes
// next to a send, and a file made to be dear next to a text of its size.
func Calendar(ctx context.Context, bed *Bed, opts CalendarOptions) error {
	sends, err := newSendRun(ctx, bed, SendOptions{Messages: opts.Posts, Size: 300, Connections: opts.PostConnections, Rounds: opts.Rounds})
	if err != nil {
		return err
	}
	defer func() { _ = sends.probe.Close() }()
	r := &calendarRun{sendRun: sends, opts: opts, invitation: drive.Invitation(time.Now(), invitedText)}
	for _, name := range opts.Parts {
		if err := calendarParts[name](r, ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// calendarParts are what can be measured.
var calendarParts = map[string]func(*calendarRun, context.Context) error{
	"messages": (*calendarRun).messages, "reads": (*calendarRun).reads, "posts": (*calendarRun).posts, "hostile": (*calendarRun).hostile,
}

// Validate refuses parts that there are not, and more meetings than an account may send.
func (o CalendarOptions) Validate() error {
	for _, name := range o.Parts {
		if calendarParts[name] == nil {
			return fmt.Errorf("--parts: unknown part %q", name)
		}
	}
	if 2*o.Posts*o.Rounds > maxSend {
		return fmt.Errorf("--posts, --rounds: at most %d meetings and sends in all", maxSend)
	}
	return nil
}

// fresh makes inboxes that nothing came to yet.
func (r *calendarRun) fresh(ctx context.Context, n int) ([]Inbox, error) {
	return r.bed.CreateInboxes(ctx, r.bed.Keys[:1], n)
}

// load delivers messages of one kind.
func (r *calendarRun) load(to []Inbox, messages int, t *drive.Template) drive.MailLoad {
	return drive.MailLoad{Addr: r.bed.Server.SMTP, Sessions: min(r.opts.Sessions, messages), Messages: messages, Size: t.Len(), To: addresses(to), Template: t}
}

// sides are messages of several kinds, in turns.
func (r *calendarRun) sides(to []Inbox, messages int, kinds ...mailKind) (sides []drive.Side) {
	for _, k := range kinds {
		l := r.load(to, messages, k.template)
		sides = append(sides, drive.Side{Target: k.name, Run: func(ctx context.Context, _ int) (drive.Round, error) { return l.Run(ctx) }, Proc: r.bed.Server.Proc})
	}
	return sides
}

type mailKind struct {
	name     string
	template *drive.Template
}

func (r *calendarRun) messages(ctx context.Context) error {
	to, err := r.fresh(ctx, r.opts.Inboxes)
	if err != nil {
		return err
	}
	size := r.invitation.Len()
	results, err := drive.Alternate(ctx, "messages in", r.opts.Rounds, r.sides(to, r.opts.Messages, mailKind{"invitations", r.invitation},
		mailKind{"sign-in messages", drive.SignInMail(time.Now(), size)}, mailKind{"texts", drive.PlainText(time.Now(), size)})...)
	if err == nil {
		r.bed.Report.Compare(results)
	}
	return err
}

// reads compares the list and the feed of many meetings, each asked for again and again.
func (r *calendarRun) reads(ctx context.Context) error {
	to, err := r.fresh(ctx, 1)
	if err != nil {
		return err
	}
	invitations := r.load(to, r.opts.Meetings, r.invitation)
	if err := invitations.Deliver(ctx); err != nil {
		return err
	}
	host, in := r.bed.Server.HTTP, to[0]
	listed := int64(0)
	for _, err := range NewAPI(host, in.Key).Calendar(in.Address).Meetings(ctx, client.MeetingQuery{}) {
		if err != nil {
			return err
		}
		listed++
	}
	r.bed.Report.Verify("meetings of the invitations", int64(r.opts.Meetings), listed)
	feed, err := NewAPI(host, in.Key).Calendar(in.Address).Feed(ctx)
	if err != nil {
		return err
	}
	link, err := url.Parse(feed.URL)
	if err != nil {
		return err
	}
	path := "/api/v1/inboxes/" + url.PathEscape(in.Address) + "/calendar/events?limit=" + fmt.Sprint(maxListed)
	if _, err = r.read(ctx, "list", drive.BuildRequest("GET", path, host, drive.KeyHeader(in.Key), nil), http.StatusOK); err != nil {
		return err
	}
	etag, err := r.read(ctx, "feed", drive.BuildRequest("GET", link.Path, host, "", nil), http.StatusOK)
	if err != nil {
		return err
	}
	window := "&from=1970-01-01&to=2100-01-01" // the page is made each time
	if _, err = r.read(ctx, "list of a window", drive.BuildRequest("GET", path+window, host, drive.KeyHeader(in.Key), nil), http.StatusOK); err != nil {
		return err
	}
	_, err = r.read(ctx, "feed, unchanged", drive.BuildRequest("GET", link.Path, host, "If-None-Match: "+etag, nil), http.StatusNotModified)
	return err
}

// read compares one request with the constant response of its size, and returns the ETag of the
// first response.
func (r *calendarRun) read(ctx context.Context, name string, request []byte, status int) (etag string, err error) {
	return reading{bed: r.bed, conns: r.opts.Connections, duration: r.opts.Duration, rounds: r.opts.Rounds}.one(ctx, name, request, status)
}

// posts lets clients make meetings in turns with sends, and waits after each turn until the queue
// is empty.
func (r *calendarRun) posts(ctx context.Context) error {
	start := time.Now().AddDate(0, 1, 0).UTC().Format("2006-01-02T15:04Z")
	body := []byte(`{"title": "Quarterly review", "start": "` + start + `", "timezone": "Europe/Berlin", "location": "Room 4.021", "description": "` +
		strings.Repeat("What we said, and why. ", 10) + `", "attendees": [{"email": "somebody@receiver.example.test", "name": "Somebody"}]}`)
	meeting := func(in Inbox) []byte {
		return drive.BuildRequest("POST", "/api/v1/inboxes/"+in.Address+"/calendar/events", r.bed.Server.HTTP, drive.KeyHeader(in.Key), body)
	}
	side := func(order func(Inbox) []byte) func(context.Context, int) (drive.Round, error) {
		return func(ctx context.Context, round int) (drive.Round, error) {
			r.order = order
			did, _, err := r.one(ctx, r.ofKey(round%len(r.bed.Keys)))
			return did, err
		}
	}
	server := r.bed.Server.Proc
	results, err := drive.Alternate(ctx, "202 of clients", r.opts.Rounds, drive.Side{Target: "meetings", Run: side(meeting), Proc: server}, drive.Side{Target: "sends", Run: side(nil), Proc: server})
	if err == nil {
		r.bed.Report.Compare(results)
	}
	return err
}

// hostile sends files that ask for as much work as they can, in turns with texts of their size.
func (r *calendarRun) hostile(ctx context.Context) error {
	to, err := r.fresh(ctx, r.opts.Inboxes)
	if err != nil {
		return err
	}
	file := drive.HostileInvitation(time.Now())
	before, err := r.bed.Server.Proc.ResidentMiB()
	if err != nil {
		return err
	}
	results, err := drive.Alternate(ctx, "mail of 1 MiB in", r.opts.Rounds, r.sides(to, r.opts.Hostile, mailKind{"hostile files", file}, mailKind{"texts", drive.PlainText(time.Now(), file.Len())})...)
	if err != nil {
		return err
	}
	after, err := r.bed.Server.Proc.ResidentMiB()
	results[0].Values = map[string]float64{"resident MiB before": before, "resident MiB after": after,
		"processor ms more than of a text": (results[0].CPU.Total() - results[1].CPU.Total()) / 1000}
	r.bed.Report.Compare(results)
	return err
}
