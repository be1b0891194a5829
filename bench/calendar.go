package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"inboxd/http/client"
)

// CalendarOptions shape the load of meetings. The tags are for the command line.
type CalendarOptions struct {
	Mails       int           `help:"Mails a turn, each with an invitation of its own." default:"3000"`
	Inboxes     int           `help:"Inboxes that they go to." default:"100"`
	Sessions    int           `help:"SMTP sessions side by side." default:"8"`
	Meetings    int           `help:"Meetings in the list and in the feed." default:"1000"`
	Connections int           `help:"Keep-alive connections that read them." default:"8"`
	Duration    time.Duration `help:"Measured time per target, over all rounds." default:"6s"`
	Posts       int           `help:"Meetings a turn that clients make." default:"1000"`
	Clients     int           `help:"Clients that make them side by side." default:"16"`
	Hostile     int           `help:"Mails a turn with a file that asks for as much work as it can." default:"20"`
	Resident    int           `help:"Inboxes whose memory is looked at, each with 100 meetings." default:"100"`
	Rounds      int           `help:"Turns each target gets." default:"3"`
	Parts       []string      `help:"What is measured: mails, reads, posts, hostile, resident." default:"mails,reads,posts,hostile,resident"`
}

const (
	maxListed   = 1000 // meetings of one page (specification, Calendar)
	eachHolds   = 100  // meetings of an inbox whose memory is looked at
	invitedText = 2048 // octets of a calendar file
)

// calendarRun owns what the parts share.
type calendarRun struct {
	*sendRun
	opts       CalendarOptions
	invitation *mailTemplate
}

// Calendar measures what meetings cost: a mail with an invitation beside mails of its size, the list and the feed of
// many beside constant answers of theirs, a meeting that a client makes beside a send, a file made to be
// dear beside a text of its size, and the memory that meetings take.
func Calendar(ctx context.Context, bed *Bed, opts CalendarOptions) error {
	if err := opts.check(bed); err != nil {
		return err
	}
	sink, addr, err := startSink(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = sink.kill() }()
	r := &calendarRun{opts: opts, invitation: newInvitation(time.Now(), invitedText),
		sendRun: &sendRun{bed: bed, opts: SendOptions{Mails: opts.Posts, Size: 300, Clients: opts.Clients, Rounds: opts.Rounds}}}
	if err := r.prepare(ctx, addr); err != nil {
		return err
	}
	defer func() { _ = r.probe.Close() }()
	load := bed.Report.Load
	load["mails"], load["inboxes"], load["meetings"], load["posts"] = opts.Mails, opts.Inboxes, opts.Meetings, opts.Posts
	load["connections"], load["duration"], load["rounds"] = opts.Connections, opts.Duration.String(), opts.Rounds
	parts := map[string]func(context.Context) error{"mails": r.mails, "reads": r.reads, "posts": r.posts, "hostile": r.hostile, "resident": r.resident}
	for _, name := range opts.Parts {
		part := parts[name]
		if part == nil {
			return fmt.Errorf("--parts: there is no %q", name)
		}
		if err := part(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (o CalendarOptions) check(bed *Bed) error {
	switch {
	case bed.Server.proc == nil:
		return errors.New("calendar needs a server of its own; leave --base-url and --smtp out")
	case o.Meetings > maxListed:
		return fmt.Errorf("--meetings: at most %d", maxListed)
	case 2*o.Posts*o.Rounds > maxSend:
		return fmt.Errorf("--posts, --rounds: at most %d meetings and sends in all", maxSend)
	}
	return atLeastOne(map[string]int{"--mails": o.Mails, "--inboxes": o.Inboxes, "--sessions": o.Sessions, "--meetings": o.Meetings, "--connections": o.Connections,
		"--posts": o.Posts, "--clients": o.Clients, "--hostile": o.Hostile, "--resident": o.Resident, "--rounds": o.Rounds})
}

// fresh makes inboxes that nothing came to yet.
func (r *calendarRun) fresh(ctx context.Context, n int) ([]Inbox, error) {
	token := runToken()
	return createInboxes(ctx, r.bed.Server.HTTP, r.bed.Keys[:1], n, setUpConns, func(i int) string { return fmt.Sprint("cal", i, token) })
}

// load delivers mails of one kind.
func (r *calendarRun) load(to []Inbox, mails int, t *mailTemplate) mailLoad {
	return mailLoad{addr: r.bed.Server.SMTP, sessions: min(r.opts.Sessions, mails), mails: mails, size: len(t.text), to: addresses(to), template: t}
}

// deliver wants every mail accepted.
func (r *calendarRun) deliver(ctx context.Context, to []Inbox, mails int, t *mailTemplate) error {
	l := r.load(to, mails, t)
	sent, err := l.run(ctx)
	if err == nil && sent.Count != int64(mails) {
		err = fmt.Errorf("only %d of %d mails were taken: %s", sent.Count, mails, sent.FirstError)
	}
	return err
}

// sides are mails of several kinds, in turns.
func (r *calendarRun) sides(to []Inbox, mails int, kinds ...mailKind) (sides []Side) {
	for _, k := range kinds {
		l := r.load(to, mails, k.template)
		sides = append(sides, Side{k.name, func(ctx context.Context, _ int) (Round, error) { return l.run(ctx) }, r.bed.Server.proc, nil})
	}
	return sides
}

type mailKind struct {
	name     string
	template *mailTemplate
}

func (r *calendarRun) mails(ctx context.Context) error {
	to, err := r.fresh(ctx, r.opts.Inboxes)
	if err != nil {
		return err
	}
	size := len(r.invitation.text)
	results, err := Alternate(ctx, "mail in", r.opts.Rounds, r.sides(to, r.opts.Mails, mailKind{"invitations", r.invitation},
		mailKind{"sign-in mails", newMailTemplate(time.Now(), size)}, mailKind{"texts", newText(time.Now(), size)})...)
	if err == nil {
		r.bed.Report.Compare(results)
	}
	return err
}

// reads compares the list and the feed of many meetings, each asked for again and again.
func (r *calendarRun) reads(ctx context.Context) error {
	to, err := r.fresh(ctx, 1)
	if err == nil {
		err = r.deliver(ctx, to, r.opts.Meetings, r.invitation)
	}
	if err != nil {
		return err
	}
	host, in := r.bed.Server.HTTP, to[0]
	listed := int64(0)
	for _, err := range newAPI(host, in.Key).Calendar(in.Address).Meetings(ctx, client.MeetingQuery{}) {
		if err != nil {
			return err
		}
		listed++
	}
	r.bed.Report.Checks = append(r.bed.Report.Checks, Check{"meetings of the invitations", int64(r.opts.Meetings), listed})
	feed, err := newAPI(host, in.Key).Calendar(in.Address).Feed(ctx)
	if err != nil {
		return err
	}
	link, err := url.Parse(feed.URL)
	if err != nil {
		return err
	}
	path := "/api/v1/inboxes/" + url.PathEscape(in.Address) + "/calendar/events?limit=" + fmt.Sprint(maxListed)
	if _, err = r.read(ctx, "list", buildRequest("GET", path, host, keyHeader(in.Key), nil), http.StatusOK); err != nil {
		return err
	}
	etag, err := r.read(ctx, "feed", buildRequest("GET", link.Path, host, "", nil), http.StatusOK)
	if err != nil {
		return err
	}
	window := "&from=1970-01-01&to=2100-01-01" // the page is made each time
	if _, err = r.read(ctx, "list of a window", buildRequest("GET", path+window, host, keyHeader(in.Key), nil), http.StatusOK); err != nil {
		return err
	}
	_, err = r.read(ctx, "feed, unchanged", buildRequest("GET", link.Path, host, "If-None-Match: "+etag, nil), http.StatusNotModified)
	return err
}

// read compares one request with the constant answer of its size, and returns the ETag of the first answer.
func (r *calendarRun) read(ctx context.Context, name string, request []byte, status int) (etag string, err error) {
	answer, size, err := r.firstAnswer(ctx, request, status)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	constant, addr, err := startConstant(ctx, r.bed.dir, status, size)
	if err != nil {
		return "", err
	}
	defer constant.stop()
	l := httpLoad{requests: [][]byte{request}, status: status, conns: r.opts.Connections, duration: r.opts.Duration / time.Duration(r.opts.Rounds),
		check: sameSize(answer, status)}
	var sides []Side
	for _, t := range []Side{{Target: "inboxd", proc: r.bed.Server.proc}, {Target: "constant", proc: constant}} {
		side := l
		side.addr = r.bed.Server.HTTP
		if t.proc == constant {
			side.addr = addr
			side.check = func(_ int, a httpAnswer) error { return checkSize(size, sizeOfAnswer(a, status)) }
		}
		t.Run = side.run
		sides = append(sides, t)
		if _, err := side.run(ctx, 0); err != nil {
			return "", fmt.Errorf("warm-up of %s: %w", t.Target, err)
		}
	}
	results, err := Alternate(ctx, name, r.opts.Rounds, sides...)
	if err == nil {
		r.bed.Report.Compare(results)
	}
	return strings.Clone(answer.field("etag")), err
}

// sameSize wants answers as long as the first, but for their ids, which grow with their number.
func sameSize(first httpAnswer, status int) func(int, httpAnswer) error {
	steady := func(a httpAnswer) int {
		if status == http.StatusNotModified {
			return len(a.Head) - len(a.field("x-request-id"))
		}
		return len(a.Body)
	}
	want := steady(first)
	return func(_ int, a httpAnswer) error { return checkSize(want, steady(a)) }
}

func sizeOfAnswer(a httpAnswer, status int) int {
	if status == http.StatusNotModified {
		return len(a.Head)
	}
	return len(a.Body)
}

// firstAnswer is what the server says when nobody else asks.
func (r *calendarRun) firstAnswer(ctx context.Context, request []byte, status int) (answer httpAnswer, size int, err error) {
	conn, err := dialHTTP(ctx, r.bed.Server.HTTP)
	if err != nil {
		return answer, 0, err
	}
	defer conn.Close()
	defer interruptOn(ctx, conn.nc)()
	for range 2 { // the second time from what the first left
		if answer, err = conn.Do(request); err != nil || answer.Status != status {
			return answer, 0, errors.Join(err, fmt.Errorf("status %d: %s", answer.Status, detailOf(answer.Body)))
		}
	}
	return answer, sizeOfAnswer(answer, status), nil
}

// posts lets clients make meetings in turns with sends, and waits after each turn until the queue is empty.
func (r *calendarRun) posts(ctx context.Context) error {
	start := time.Now().AddDate(0, 1, 0).UTC().Format("2006-01-02T15:04Z")
	body := []byte(`{"title": "Quarterly review", "start": "` + start + `", "timezone": "Europe/Berlin", "location": "Room 4.021", "description": "` +
		strings.Repeat("What we said, and why. ", 10) + `", "attendees": [{"email": "somebody@receiver.example.test", "name": "Somebody"}]}`)
	meeting := func(in Inbox) []byte {
		return buildRequest("POST", "/api/v1/inboxes/"+in.Address+"/calendar/events", r.bed.Server.HTTP, keyHeader(in.Key), body)
	}
	side := func(order func(Inbox) []byte) func(context.Context, int) (Round, error) {
		return func(ctx context.Context, round int) (Round, error) {
			r.order = order
			did, _, err := r.one(ctx, r.ofKey(round%len(r.bed.Keys)))
			return did, err
		}
	}
	server := r.bed.Server.proc
	results, err := Alternate(ctx, "202 of clients", r.opts.Rounds, Side{"meetings", side(meeting), server, nil}, Side{"sends", side(nil), server, nil})
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
	file := newHostile(time.Now())
	before, err := r.bed.Server.proc.residentMiB()
	if err != nil {
		return err
	}
	results, err := Alternate(ctx, "mail of 1 MiB in", r.opts.Rounds, r.sides(to, r.opts.Hostile, mailKind{"hostile files", file}, mailKind{"texts", newText(time.Now(), len(file.text))})...)
	if err != nil {
		return err
	}
	after, err := r.bed.Server.proc.residentMiB()
	results[0].Values = map[string]float64{"resident MiB before": before, "resident MiB after": after,
		"processor ms more than of a text": (results[0].CPU.total() - results[1].CPU.total()) / 1000}
	r.bed.Report.Compare(results)
	return err
}

// resident starts the server again and reads inboxes into memory: some with as many plain mails
// as the others have invitations.
func (r *calendarRun) resident(ctx context.Context) error {
	inboxes, err := r.fresh(ctx, 2*r.opts.Resident)
	if err != nil {
		return err
	}
	plain, invited := inboxes[:r.opts.Resident], inboxes[r.opts.Resident:]
	err = errors.Join(r.deliver(ctx, plain, eachHolds*len(plain), newMailTemplate(time.Now(), len(r.invitation.text))),
		r.deliver(ctx, invited, eachHolds*len(invited), r.invitation))
	if err == nil {
		err = errors.Join(r.bed.Server.Stop(), r.bed.Server.start(ctx))
	}
	sizes := [3]float64{}
	for i, list := range [][]Inbox{nil, plain, invited} {
		for _, in := range list {
			if err == nil {
				_, err = in.latest(ctx, r.bed.Server.HTTP)
			}
		}
		if err != nil {
			return err
		}
		if err = r.bed.Server.proc.settle(ctx); err == nil {
			time.Sleep(settleFor)
			sizes[i], err = r.bed.Server.proc.residentMiB()
		}
	}
	each := func(mib float64) float64 { return mib * 1024 / float64(r.opts.Resident) }
	r.bed.Report.Results = append(r.bed.Report.Results, Result{Name: "100 meetings in memory", Target: "inboxd", Count: int64(r.opts.Resident), Values: map[string]float64{
		"resident KiB of an inbox with 100 mails": each(sizes[1] - sizes[0]), "resident KiB of one with 100 invitations": each(sizes[2] - sizes[1]),
		"resident KiB of 100 meetings": each(sizes[2] - sizes[1] - sizes[1] + sizes[0]),
	}})
	return err
}
