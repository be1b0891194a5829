package mixed

import (
	"os"
	"strings"
	"testing"
	"time"

	"inboxd/bench"
	"inboxd/bench/benchtest"
	"inboxd/bench/drive"
)

func TestMain(m *testing.M) { benchtest.Main(m) }

func smallFleet() Fleet {
	return Fleet{Agents: 20, Every: 100 * time.Millisecond, Mails: 60, Sends: 30, Connections: 4, Sessions: 3, Size: drive.MailSize, Within: 10 * time.Second}
}

// fakeBed is a bed on the fake, which hands its mail to a sink.
func fakeBed(t *testing.T, serveArgs ...string) *bench.Bed {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts := bench.ServerOptions{Inboxd: self, ServeArgs: serveArgs, Dir: t.TempDir(), Accounts: 2}
	bed, err := bench.Prepare(t.Context(), "inbox-bench test", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}

func TestMixedAsksForEverythingThatWasAccepted(t *testing.T) {
	t.Parallel()
	bed := fakeBed(t)
	if err := Run(t.Context(), bed, Options{Fleet: smallFleet(), Duration: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if len(r.Results) != 4 || len(r.Timelines) != 4 || len(r.Checks) != 7 {
		t.Fatalf("%d results, %d timelines, checks %+v", len(r.Results), len(r.Timelines), r.Checks)
	}
	// 20 agents ten times a second, 60 messages and 30 sends, for two seconds.
	for i, want := range []int64{400, 120, r.Results[1].Count, 60} { // an event for each accepted message
		res := r.Results[i]
		if got := res.Count + res.Unsent; got < want*95/100 || got > want*105/100 || res.Latency == nil || res.Latency.P99 <= 0 {
			t.Errorf("%s: %d, want about %d: %+v", res.Name, got, want, res)
		}
		if n := len(r.Timelines[i].Seconds); n < 2 {
			t.Errorf("%s: %d seconds", res.Name, n)
		}
	}
}

func TestMixedFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for serve, want := range map[string]string{
		"--fake-lose-mail":      "check failed: messages accepted with an event: want ",
		"--fake-wrong-code":     "check failed: messages accepted with an event: want ",
		"--fake-events=twice":   "check failed: events received twice: want 0, got ",
		"--fake-events=strange": "check failed: events of messages that were not sent: want 0, got ",
		"--fake-events=lost":    "check failed: messages accepted with an event: want ",
		"--fake-unsigned":       "events, final dot to webhook on inboxd: nothing was measured",
		"--fake-lose-sends":     "check failed: sends accepted that were delivered: want ",
		"--fake-rude":           "SMTP 452 4.3.1 no room",
	} {
		t.Run(serve, func(t *testing.T) {
			t.Parallel()
			bed := fakeBed(t, serve)
			opts := Options{Fleet: smallFleet(), Duration: 2 * time.Second}
			opts.Within = 300 * time.Millisecond
			if err := Run(t.Context(), bed, opts); err != nil {
				t.Fatal(err)
			}
			err := bed.Report.Err()
			if err == nil || !strings.Contains(err.Error(), want) && !(serve == "--fake-wrong-code" && strings.Contains(err.Error(), "not of a message to it")) {
				t.Errorf("error %v, want %q", err, want)
			}
			if serve == "--fake-unsigned" && !hasCheck(bed, "webhook calls without a valid signature") {
				t.Errorf("forged calls are not counted: %+v", bed.Report.Checks)
			}
			if serve == "--fake-lose-mail" && !hasCheck(bed, "messages accepted that are readable") {
				t.Errorf("lost mail is not missed: %+v", bed.Report.Checks)
			}
		})
	}
}

// hasCheck reports whether a check failed.
func hasCheck(bed *bench.Bed, name string) bool {
	for _, c := range bed.Report.Checks {
		if c.Name == name {
			return !c.OK()
		}
	}
	return false
}

func TestCleanRefusalsAreNoErrors(t *testing.T) {
	t.Parallel()
	bed := fakeBed(t, "--fake-refuse")
	if err := Run(t.Context(), bed, Options{Fleet: smallFleet(), Duration: time.Second}); err != nil {
		t.Fatal(err)
	}
	if err := bed.Report.Err(); err != nil {
		t.Error(err)
	}
	for i, want := range []string{"503 Too much to do", "SMTP 451 4.3.2 too much to do"} {
		if res := bed.Report.Results[i]; res.Refused == 0 || res.FirstRefusal != want {
			t.Errorf("%s: %d refused, %q", res.Name, res.Refused, res.FirstRefusal)
		}
	}
	if p := bed.Report.Promises[0]; p.Holds() || p.Got == 0 {
		t.Errorf("refusals of an ordinary day: %+v", p)
	}
}

func TestOverloadSetsGoodputBesideThePeak(t *testing.T) {
	t.Parallel()
	bed := fakeBed(t)
	fleet := smallFleet()
	fleet.Sends = 5
	if err := Overload(t.Context(), bed, OverloadOptions{Fleet: fleet, Duration: 2 * time.Second, Calm: 5 * time.Second, Step: 2 * time.Second, Peak: 1}); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	values := r.Results[0].Values
	peak, over := values["right responses a second at the peak"], values["right responses a second at four times the peak"]
	if peak < 150 || over < 2*peak { // 265 and 1,060 are asked for, of a server that can do more
		t.Errorf("%v", values)
	}
	if len(r.Promises) != 2 || r.Promises[0].Got < 2 || r.Promises[1].Got < 0 {
		t.Errorf("%+v", r.Promises)
	}
}

func TestBackAfter(t *testing.T) {
	seconds := func(p99s ...float64) (all []drive.Second) {
		for n, p := range p99s {
			all = append(all, drive.Second{Second: n, Count: 1, P99: p})
		}
		return all
	}
	for name, c := range map[string]struct {
		seconds []drive.Second
		want    int
	}{
		"at once":              {seconds(9, 9, 1, 1, 1, 1), 0},
		"after two":            {seconds(9, 9, 5, 5, 1, 1, 1), 2},
		"not for good":         {seconds(9, 9, 1, 1, 5, 1, 1, 1), 3},
		"never":                {seconds(9, 9, 5, 5, 5, 5), 4},
		"nothing ended is bad": {append(seconds(9, 9, 1), drive.Second{Second: 3}, drive.Second{Second: 4}), 6},
	} {
		after := span{3, max(len(c.seconds), 8)}
		if name == "never" {
			after.to = 6
		}
		if got := backAfter(after, c.seconds, 2); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestRestartKeepsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	bed := fakeBed(t)
	fleet := smallFleet()
	fleet.Within = 2 * time.Second // the fake calls no webhook again
	if err := Restart(t.Context(), bed, RestartOptions{Fleet: fleet, Duration: time.Second, Rounds: 1}); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	for i, name := range []string{"SIGTERM", "kill -9"} {
		res := r.Results[i]
		if !strings.Contains(res.Name, name) || res.Count != 1 || res.Latency == nil || res.Values["ms from its end to the first read, p50"] <= 0 {
			t.Errorf("%+v", res)
		}
	}
	for _, res := range r.Results[2:4] {
		if res.Errors > 0 || res.Count == 0 || !strings.HasPrefix(res.FirstRefusal, "the server had ended: ") {
			t.Errorf("%+v", res)
		}
	}
	for _, c := range r.Checks {
		if c.Name == "messages accepted that are readable" && (c.Want == 0 || !c.OK()) || strings.Contains(c.Name, "twice") {
			t.Errorf("%+v", c)
		}
	}
}

func TestRestartFindsLostMessages(t *testing.T) {
	t.Parallel()
	bed := fakeBed(t, "--fake-lose-mail")
	fleet := smallFleet()
	fleet.Within = 300 * time.Millisecond
	if err := Restart(t.Context(), bed, RestartOptions{Fleet: fleet, Duration: time.Second, Rounds: 1}); err != nil {
		t.Fatal(err)
	}
	if !hasCheck(bed, "messages accepted that are readable") {
		t.Errorf("%+v", bed.Report.Checks)
	}
}

func TestSendsAreBoundedByTheAccounts(t *testing.T) {
	opts := Options{Fleet: smallFleet(), Duration: 2 * time.Second}
	opts.Sends = maxSends
	if err := Run(t.Context(), &bench.Bed{Keys: []string{"k"}}, opts); err == nil || !strings.Contains(err.Error(), "use --accounts") {
		t.Errorf("error %v", err)
	}
}
