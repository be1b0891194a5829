package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"inboxd/bench/benchtest"
	"inboxd/bench/drive"
)

// asProgram in the environment makes the test binary this program.
const asProgram = "INBOX_BENCH_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" && (len(os.Args) < 2 || os.Args[1] != "serve") {
		main()
		return
	}
	benchtest.Main(m)
}

// program runs this program.
func program(ctx context.Context, t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.WaitDelay = 10 * time.Second
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// server starts the fake as a server that is not the program's.
func server(t *testing.T, serveArgs ...string) (web, mail string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := append([]string{"serve", "--data", dir, "--http", "127.0.0.1:0", "--smtp", "127.0.0.1:0"}, serveArgs...)
	p, addrs, err := drive.StartProcess(t.Context(), "inboxd", filepath.Join(dir, "log"), self, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + addrs["http"], addrs["smtp"]
}

// get reads JSON from the fake.
func get(t *testing.T, url, key string, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}

func inboxesOf(t *testing.T, web, key string) int {
	t.Helper()
	var list struct{ Inboxes []any }
	get(t, web+"/api/v1/inboxes", key, &list)
	return len(list.Inboxes)
}

const givenKey = "svc_live_given"

// attach are the arguments of a load with a small fleet on a running server.
func attach(web, mail, load string) []string {
	return []string{load, "--base-url", web, "--smtp", mail, "--api-key", givenKey,
		"--agents", "5", "--mails", "20", "--every", "100ms", "--connections", "2", "--sessions", "2", "--within", "2s"}
}

func TestAReportIsAllThatStandardOutputHolds(t *testing.T) {
	web, mail := server(t)
	data, page := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "r.html")
	args := append(attach(web, mail, "mixed"), "--duration", "2s", "--json", data, "--report", page)
	cmd, stdout, stderr := program(t.Context(), t, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
	}
	if !strings.HasPrefix(stdout.String(), "inbox-bench mixed ") || strings.Contains(stdout.String(), "a second  ") || !strings.Contains(stderr.String(), "polls, due to response") {
		t.Errorf("standard output:\n%s\nstandard error:\n%s", stdout, stderr)
	}
	if html, err := os.ReadFile(page); err != nil || bytes.Count(html, []byte("<svg")) != 4 { // two of polls and of messages
		t.Errorf("%d plots, %v", bytes.Count(html, []byte("<svg")), err)
	}
	if n := inboxesOf(t, web, givenKey); n != 0 {
		t.Errorf("%d inboxes are left", n)
	}
	var saved struct{ Load map[string]string }
	b, err := os.ReadFile(data)
	if err == nil {
		err = json.Unmarshal(b, &saved)
	}
	if err != nil || saved.Load["agents"] != "5" || saved.Load["every"] != "100ms" || saved.Load["server"] != "attached" {
		t.Errorf("settings %v, %v", saved.Load, err)
	}
	cmd, stdout, stderr = program(t.Context(), t, "compare", data, data)
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), "polls, due to response on inboxd, p99 ms") {
		t.Errorf("a run next to itself: %v\n%s\n%s", err, stdout, stderr)
	}
}

// ownLatency are the arguments of a short load on a server of the program's own.
func ownLatency(t *testing.T, dir string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"latency", "--self", "--messages", "5", "--inboxd", self, "--dir", dir}
}

func TestAFileThatCannotBeWrittenIsFoundBeforeTheRun(t *testing.T) {
	for _, flag := range []string{"--json", "--report"} {
		path := filepath.Join(t.TempDir(), "none", "r")
		cmd, stdout, stderr := program(t.Context(), t, append(ownLatency(t, t.TempDir()), flag, path)...)
		if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), flag+": open "+path) || stdout.Len() > 0 {
			t.Errorf("%v\n%s%s", err, stdout, stderr)
		}
	}
}

// A full device is found only by writing to it.
func TestTheOthersAreWrittenWhateverBecomesOfAFile(t *testing.T) {
	page := filepath.Join(t.TempDir(), "r.html")
	cmd, stdout, stderr := program(t.Context(), t, append(ownLatency(t, t.TempDir()), "--json", "/dev/full", "--report", page)...)
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "no space left") || !strings.Contains(stdout.String(), "final dot to 250") {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
	if html, err := os.ReadFile(page); err != nil || !bytes.Contains(html, []byte("final dot to 250")) {
		t.Errorf("the page: %s, %v", html, err)
	}
}

// The inboxes that were made are removed, however the run ends: by Ctrl-C, by SIGTERM, and by an
// error.
func TestWhatWasMadeIsRemoved(t *testing.T) {
	for _, end := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, nil} {
		web, mail := server(t)
		cmd, stdout, stderr := program(t.Context(), t, append(attach(web, mail, "mixed"), "--duration", "60s", "--timeout", "3s")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitMails(t, web, cmd)
		if end != nil {
			if err := cmd.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
		}
		err := cmd.Wait()
		if err == nil || stdout.Len() > 0 || strings.Contains(stderr.String(), "not done within --timeout 3s") != (end == nil) {
			t.Errorf("a run that %v ends says %v and prints\n%s%s", end, err, stdout, stderr)
		}
		checkGone(t, web, stderr)
	}
}

// The reader of standard output may exit first, as head does.
func TestABrokenPipeLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	cmd, _, stderr := program(t.Context(), t, ownLatency(t, dir)...)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	cmd.Stdout = writer
	err = cmd.Run()
	writer.Close()
	if err == nil || !strings.Contains(stderr.String(), "broken pipe") {
		t.Errorf("error %v\n%s", err, stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A run under nohup continues when its terminal is closed.
func TestAnIgnoredHangUpEndsNothing(t *testing.T) {
	web, mail := server(t)
	cmd, _, stderr := program(t.Context(), t, append(attach(web, mail, "mixed"), "--duration", "2s")...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, cmd.Args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitMails(t, web, cmd)
	if err := errors.Join(cmd.Process.Signal(syscall.SIGHUP), cmd.Wait()); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
}

// Inboxes of calls in flight are removed, too: of those that Ctrl-C meets, and of one whose
// response is lost.
func TestWhatIsBeingMadeIsRemoved(t *testing.T) {
	for _, serveArg := range []string{"--fake-slow=300ms", "--fake-mute"} {
		web, mail := server(t, serveArg)
		cmd, _, stderr := program(t.Context(), t, attach(web, mail, "mixed")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if serveArg != "--fake-mute" { // which ends the run by an error
			await(t, cmd, "inbox", func() bool { return inboxesOf(t, web, givenKey) > 0 })
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Wait(); err == nil || inboxesOf(t, web, givenKey) > 0 {
			t.Errorf("%s: %v, and %d inboxes are left\n%s", serveArg, err, inboxesOf(t, web, givenKey), stderr)
		}
	}
}

// awaitMails waits until the load runs.
func awaitMails(t *testing.T, web string, cmd *exec.Cmd) {
	t.Helper()
	await(t, cmd, "mail", func() bool {
		var taken int
		get(t, web+"/fake/taken", givenKey, &taken)
		return taken > 3
	})
}

// await ends a program to which something does not come.
func await(t *testing.T, cmd *exec.Cmd, what string, came func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if came() {
			return
		}
	}
	_ = cmd.Process.Kill()
	t.Fatal("no " + what + " came")
}

// checkGone wants the five inboxes removed.
func checkGone(t *testing.T, web string, stderr *bytes.Buffer) {
	t.Helper()
	var gone []string
	get(t, web+"/fake/gone", givenKey, &gone)
	if len(gone) != 5 || inboxesOf(t, web, givenKey) > 0 {
		t.Errorf("removed were %q\n%s", gone, stderr)
	}
}

// Invalid options are refused by the name of their flag, before anything runs: the inboxd does not
// exist.
func TestWhatMakesNoLoadIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"latency --accounts 0":     "--accounts must be at least 1, not 0",
		"latency --accounts 11":    "--accounts must be at most 10, not 11",
		"latency --timeout 0s":     "--timeout must be at least 1ms, not 0s",
		"latency --size 1":         "--size must be at least 1250, not 1",
		"poll --rate NaN":          "--rate must be at least 0, not NaN",
		"poll --variants fast":     `poll: --variants: unknown variant "fast"`,
		"ingest --pipelined 1,0":   "--pipelined must be at least 1, not 0",
		"calendar --parts weather": `calendar: --parts: unknown part "weather"`,
		"webhooks --hanging 991":   "--hanging must be at most 990, not 991",
		"peers":                    "peers: peers needs --mailpit PATH or --inbucket PATH",
		"mixed --mails 0":          "--mails must be more than 0, not 0",
		"mixed --mails 1000000":    "mixed: --mails: 1000000 a second for 1m0s are more than the 900000 that have a code of their own",
		"scale --inboxes 5000001":  "--inboxes must be at most 5000000, not 5000001",
		"tools --calls 0":          "--calls must be at least 1, not 0",
		"restart --rounds 0":       "--rounds must be at least 1, not 0",
		"overload --step 1s":       "--step must be at least 2s, not 1s",
	} {
		cmd, stdout, stderr := program(t.Context(), t, append(strings.Fields(args), "--inboxd", "/no/such/inboxd")...)
		if err := cmd.Run(); err == nil || !strings.HasPrefix(stderr.String(), "inbox-bench: error: "+want) || stdout.Len() > 0 {
			t.Errorf("%s: %v\n%s%s", args, err, stdout, stderr)
		}
	}
}

func TestRunningServersThatAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"--yes-remote allows it":           {"--base-url", "https://192.0.2.1", "--smtp", "127.0.0.1:25", "--api-key", "k"},
		"192.0.2.2:25 is not on this":      {"--base-url", "http://127.0.0.1", "--smtp", "192.0.2.2:25", "--api-key", "k"},
		"--base-url, --smtp and --api-key": {"--base-url", "http://127.0.0.1:1", "--smtp", "127.0.0.1:2"},
		"--self and --base-url can't be":   {"--self", "--base-url", "http://127.0.0.1:1"},
		"--self and --smtp can't be":       {"--self", "--smtp", "127.0.0.1:2"},
		"only http and https are":          {"--base-url", "ftp://127.0.0.1:1", "--smtp", "127.0.0.1:2", "--api-key", "k"},
	} {
		cmd, stdout, stderr := program(t.Context(), t, append([]string{"latency"}, args...)...)
		if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%q: %v\n%s%s", args, err, stdout, stderr)
		}
	}
}

// A flag has the same type in all loads, but for those that go through a list of sessions.
func TestFlagsMeanTheSameInAllLoads(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	types, defaults := map[string]string{}, map[string]string{}
	for _, load := range parser.Model.Leaves(true) {
		for _, flag := range load.Flags {
			defaults[load.Name+" --"+flag.Name] = flag.Default
			kind := strings.TrimPrefix(flag.Target.Type().String(), "[]")
			if known := types[flag.Name]; known != "" && known != kind {
				t.Errorf("%s --%s is %s, elsewhere %s", load.Name, flag.Name, kind, known)
			}
			types[flag.Name] = kind
		}
	}
	for name, want := range map[string]string{"start --inboxes": "100000", "start --messages": "10000", "scale --inboxes": "1000000", "scale --messages": "1000000"} {
		if defaults[name] != want {
			t.Errorf("%s is %q, want %s", name, defaults[name], want)
		}
	}
}

// TestWhatNeedsAServerOfItsOwnAsksNoOther: nothing listens there.
func TestWhatNeedsAServerOfItsOwnAsksNoOther(t *testing.T) {
	for _, load := range []string{"calendar", "restart", "scale", "send", "start", "webhooks"} {
		cmd, stdout, stderr := program(t.Context(), t, load, "--base-url", "http://127.0.0.1:1", "--smtp", "127.0.0.1:1")
		if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "needs a server of its own") || stdout.Len() > 0 {
			t.Errorf("%s: %v\n%s%s", load, err, stdout, stderr)
		}
	}
}
