package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"inboxd/bench/drive"
)

func smallPoll() PollOptions {
	return PollOptions{Inboxes: 20, Connections: 3, Duration: 200 * time.Millisecond, Rounds: 2}
}

func TestPollComparesWithTheConstantAnswer(t *testing.T) {
	t.Parallel()
	bed := fakeBed(t)
	if err := Poll(t.Context(), bed, smallPoll()); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	var ratios []string
	for _, q := range r.Ratios {
		ratios = append(ratios, q.Name)
		if len(q.Rounds) != 2 || q.Median <= 0 {
			t.Errorf("%+v", q)
		}
	}
	if got := strings.Join(ratios, ", "); got != "GET /latest account-key, GET /latest inbox-key, GET /latest per-inbox, GET /latest 304, GET /latest tag, GET /latest encrypted" {
		t.Errorf("ratios %s", got)
	}
	for i, res := range r.Results {
		if res.Count == 0 || res.Latency == nil || res.Latency.P50 <= 0 || len(res.Rounds) != 2 {
			t.Errorf("%+v", res)
		}
		// The system counts by ticks of 10 ms, less than which few responses take on a busy
		// machine.
		if res.Count > 5_000 && (res.CPU.Total() <= 0 || len(res.CPU.Rounds) != 2) {
			t.Errorf("%s on %s: processor time %+v", res.Name, res.Target, res.CPU)
		}
		if want := []string{"inboxd", "constant"}[i%2]; res.Target != want {
			t.Errorf("result %d is of %s", i, res.Target)
		}
	}
	if r.Load["bytes_account-key"] != r.Load["bytes_per-inbox"] || r.Load["bytes_304"].(int) < len("HTTP/1.1 304 Not Modified\r\n") {
		t.Errorf("load %v", r.Load)
	}
}

func TestPollWithRateSendsThatMany(t *testing.T) {
	t.Parallel()
	bed := fakeBed(t)
	opts := smallPoll()
	opts.Rate = 100
	if err := Poll(t.Context(), bed, opts); err != nil {
		t.Fatal(err)
	}
	for _, res := range bed.Report.Results {
		if n := res.Count + res.Unsent; n < 18 || n > 24 { // 100/s for 0.2 s, both rounds
			t.Errorf("%s: %d requests planned", res.Target, n)
		}
	}
}

func needPostfix(t *testing.T) {
	t.Helper()
	for _, name := range []string{smtpSource, smtpSink} {
		if _, err := lookPostfix(name); err != nil {
			t.Skip(err)
		}
	}
}

func TestIngestAllVariants(t *testing.T) {
	needPostfix(t)
	bed := fakeBed(t)
	opts := IngestOptions{Messages: 30, Size: drive.MailSize, Sessions: []int{1, 4}, Hot: 4, Pipelined: []int{1, 4}, Encrypted: 4, Rounds: 2}
	if err := Ingest(t.Context(), bed, opts); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	var ratios []string
	for _, q := range r.Ratios {
		ratios = append(ratios, q.Name+" "+q.Of+"/"+q.To)
	}
	want := "smtp-source s=1 inboxd/smtp-sink, smtp-source s=1 inboxd/fdatasync, " +
		"smtp-source s=4 inboxd/smtp-sink, smtp-source hot s=4 inboxd/smtp-sink, " +
		"pipelined s=1 inboxd/smtp-sink, pipelined s=1 inboxd/fdatasync, pipelined s=4 inboxd/smtp-sink, encrypted s=4 encrypted/inboxd"
	if got := strings.Join(ratios, ", "); got != want {
		t.Errorf("ratios %s", got)
	}
	stored, encrypted := r.Checks[len(r.Checks)-2], r.Checks[len(r.Checks)-1]
	if stored.Want != 5*2*30 || encrypted.Want != 2*30 { // variants, rounds, messages
		t.Errorf("last checks %+v, %+v", stored, encrypted)
	}
}

func TestLatencySeesEveryMail(t *testing.T) {
	bed := fakeBed(t)
	if err := Latency(t.Context(), bed, LatencyOptions{Messages: 10, Size: drive.MailSize}); err != nil {
		t.Fatal(err)
	}
	if n := len(bed.Report.Results); n != 5 {
		t.Fatalf("%d results", n)
	}
	for _, res := range bed.Report.Results {
		if res.Count != 10 || res.Latency == nil || res.Latency.P50 <= 0 {
			t.Errorf("%+v", res)
		}
		if res.Target == "inboxd" && res.Values["p50 in fdatasyncs"] <= 0 {
			t.Errorf("%s stands next to nothing: %+v", res.Name, res.Values)
		}
	}
}

func TestStartReadsAfterEveryEnding(t *testing.T) {
	bed := fakeBed(t)
	if err := Start(t.Context(), bed, smallStart()); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	if err := r.Err(); err != nil || len(r.Results) != 6 {
		t.Fatalf("%d results, %v", len(r.Results), err)
	}
	for i, want := range []int64{30, 70, 2, 2, 4 * (1 + 10)} {
		if r.Results[i].Count != want {
			t.Errorf("count %d, want %d: %+v", r.Results[i].Count, want, r.Results[i])
		}
	}
	for _, res := range r.Results[2:4] {
		if res.Latency == nil || res.Values["ready ms"] <= 0 || res.Values["resident MiB after all reads"] < 1 {
			t.Errorf("%+v", res)
		}
	}
}

func TestScaleHasPromises(t *testing.T) {
	bed := fakeBed(t)
	if err := Scale(t.Context(), bed, smallStart()); err != nil {
		t.Fatal(err)
	}
	for _, p := range bed.Report.Promises {
		if p.Got <= 0 {
			t.Errorf("%+v", p)
		}
	}
	if n := len(bed.Report.Promises); n != 3 || bed.Report.Err() != nil {
		t.Errorf("%d promises, %v", n, bed.Report.Err())
	}
}

// smallStart has some inboxes with three messages and the others with two.
func smallStart() StartOptions {
	return StartOptions{Inboxes: 30, Messages: 70, Size: drive.MailSize, Reads: 10, Rounds: 2, Connections: 2, Duration: 100 * time.Millisecond}
}

func smallWebhooks() WebhooksOptions {
	return WebhooksOptions{Messages: 30, Rounds: 2, Inboxes: 4, Sessions: 3, Size: drive.MailSize, Within: time.Minute}
}

func TestWebhooksTellOfEveryMail(t *testing.T) {
	for _, hanging := range []int{0, 2} {
		bed := fakeBed(t)
		opts := smallWebhooks()
		opts.Hanging = hanging
		if err := Webhooks(t.Context(), bed, opts); err != nil {
			t.Fatal(err)
		}
		r := bed.Report
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		if len(r.Results) != 3 || len(r.Ratios) != 1 || r.Ratios[0].Of != "without webhooks" || r.Ratios[0].To != "with webhooks" {
			t.Fatalf("%+v", r)
		}
		for _, res := range r.Results {
			if res.Count != 60 || res.Latency == nil || res.Latency.P50 <= 0 {
				t.Errorf("%d hanging: %+v", hanging, res)
			}
		}
		if v := r.Results[2].Values; v["resident MiB before"] < 1 || v["resident MiB after"] < 1 {
			t.Errorf("memory %v", v)
		}
	}
}

func TestSendCountsEveryMail(t *testing.T) {
	bed := fakeBed(t)
	if err := Send(t.Context(), bed, SendOptions{Messages: 40, Size: 500, Connections: 4, Singles: 5, Rounds: 1}); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if len(r.Ratios) != 1 || r.Results[2].Count != 40 || r.Checks[0].Want != 45 {
		t.Errorf("%+v", r)
	}
}

func TestCalendarMeasuresEveryPart(t *testing.T) {
	t.Parallel()
	opts := CalendarOptions{Messages: 20, Inboxes: 3, Sessions: 2, Meetings: 9, Connections: 2, Duration: 50 * time.Millisecond, Posts: 10, PostConnections: 2, Hostile: 2, Rounds: 1,
		Parts: []string{"messages", "reads", "posts", "hostile"}}
	bed := fakeBed(t)
	if err := Calendar(t.Context(), bed, opts); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if len(r.Results) != 15 || len(r.Ratios) != 8 || r.Results[0].Count != 20 || r.Results[11].Count != 10 || r.Checks[0].Got != 9 {
		t.Errorf("%+v", r)
	}
}

// TestLoadsFindWhatIsWrong runs each load on a fake that is wrong in one way.
func TestLoadsFindWhatIsWrong(t *testing.T) {
	poll := func(variant string) load {
		opts := smallPoll()
		opts.Variants = []string{variant}
		return on(Poll, opts)
	}
	hooks := smallWebhooks()
	late := hooks
	late.Within = 100 * time.Millisecond
	start := smallStart()
	start.Messages, start.Reads = 30, 30
	ingest := on(Ingest, IngestOptions{Messages: 30, Size: drive.MailSize, Pipelined: []int{2}, Rounds: 1, NoSource: true})
	calendar := on(Calendar, CalendarOptions{Messages: 1, Inboxes: 1, Sessions: 1, Meetings: 20, Connections: 1,
		Duration: 20 * time.Millisecond, Posts: 1, PostConnections: 1, Hostile: 1, Rounds: 1, Parts: []string{"reads"}})
	for _, c := range []struct {
		name, serve, want string
		load              load
	}{
		{"poll account-key", "--fake-wrong-code", `code "999999"`, poll("account-key")},
		{"poll per-inbox", "--fake-wrong-code", `code "999999"`, poll("per-inbox")},
		{"poll encrypted", "--fake-wrong-code", "is not sealed", poll("encrypted")},
		{"poll 304", "--fake-always-new", "status 200, want 304", poll("304")},
		{"poll 304", "--fake-never-new", `came back as unchanged with ETag "other"`, poll("304")},
		{"ingest", "--fake-lose-mail", "codes sampled in pipelined s=2, round 1: want 30, got 27", ingest},
		{"ingest", "--fake-wrong-code", "codes sampled in pipelined s=2, round 1: want 30, got 0", ingest},
		{"latency", "--fake-wrong-code", `"999999"`, on(Latency, LatencyOptions{Messages: 1, Size: drive.MailSize})},
		{"start", "--fake-lose-mail", "want", on(Start, start)},
		{"calendar", "--fake-lose-mail", "meetings of the invitations", calendar},
		{"webhooks", "--fake-events=twice", "check failed: events received twice: want 0, got ", on(Webhooks, hooks)},
		{"webhooks", "--fake-events=strange", "check failed: events of messages that were not sent: want 0, got ", on(Webhooks, hooks)},
		{"webhooks", "--fake-events=lost", "events did not come within 100ms; 0 calls were strange", on(Webhooks, late)},
	} {
		t.Run(c.name+c.serve, func(t *testing.T) {
			t.Parallel()
			if c.name == "ingest" {
				needPostfix(t)
			}
			bed := fakeBed(t, c.serve)
			err := c.load(t.Context(), bed)
			if err == nil {
				err = bed.Report.Err()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

type load func(context.Context, *Bed) error

func on[O any](run func(context.Context, *Bed, O) error, opts O) load {
	return func(ctx context.Context, bed *Bed) error { return run(ctx, bed, opts) }
}
