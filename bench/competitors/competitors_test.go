package competitors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/bench"
	"inboxd/bench/benchtest"
	"inboxd/bench/drive"
)

func TestMain(m *testing.M) { benchtest.Main(m) }

func small() Options {
	return Options{Inboxes: 5, Messages: 20, Size: drive.MailSize, Sessions: []int{2}, Connections: 2, Duration: 100 * time.Millisecond, Rounds: 1}
}

func fakeBed(t *testing.T) *bench.Bed {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bed, err := bench.Prepare(t.Context(), "inbox-bench peers", bench.ServerOptions{Inboxd: self, Dir: t.TempDir()})
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

// A binary that cannot be started is found before anything is made.
func TestPeersNeedABinary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inbucket")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, opts := range map[string]Options{
		"peers needs --mailpit PATH or --inbucket PATH": {},
		"--mailpit: exec: ":                             {Mailpit: file + "-2"},
		"--inbucket: exec: ":                            {Inbucket: file},
	} {
		if err := opts.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestAPeerThatEndsIsNamed(t *testing.T) {
	script := filepath.Join(t.TempDir(), "program")
	for code, want := range map[string]string{"7": "exit status 7", "0": "exit code 0; " + script + " may be no "} {
		if err := os.WriteFile(script, []byte("#!/bin/sh\nexit "+code+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, opts := range map[string]Options{"mailpit": {Mailpit: script}, "inbucket, memory": {Inbucket: script}} {
			all := small()
			all.Mailpit, all.Inbucket = opts.Mailpit, opts.Inbucket
			if err := Run(t.Context(), fakeBed(t), all); err == nil || !strings.Contains(err.Error(), name+" has ended: "+want) {
				t.Errorf("%s with exit code %s: error %v", name, code, err)
			}
		}
	}
}

// The binaries themselves are used where INBOX_BENCH_MAILPIT and INBOX_BENCH_INBUCKET say where
// they are.
func TestPeersTakeTurns(t *testing.T) {
	opts := small()
	opts.Mailpit, opts.Inbucket = os.Getenv("INBOX_BENCH_MAILPIT"), os.Getenv("INBOX_BENCH_INBUCKET")
	if opts.Mailpit == "" || opts.Inbucket == "" {
		t.Skip("INBOX_BENCH_MAILPIT and INBOX_BENCH_INBUCKET name no binaries")
	}
	bed := fakeBed(t)
	if err := Run(t.Context(), bed, opts); err != nil {
		t.Fatal(err)
	}
	if n := len(bed.Report.Results); n != 8 || len(bed.Report.Ratios) != 6 {
		t.Errorf("%d results, %d ratios", n, len(bed.Report.Ratios))
	}
	for _, res := range bed.Report.Results[:4] {
		if res.Count != 20 {
			t.Errorf("%+v", res)
		}
	}
}
