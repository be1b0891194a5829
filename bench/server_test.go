package bench

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"inboxd/bench/drive"
	"inboxd/bench/fakes"
)

func TestParseReady(t *testing.T) {
	for line, want := range map[string]map[string]string{
		"inboxd ready http=127.0.0.1:8080 smtp=127.0.0.1:2525\n":   {"http": "127.0.0.1:8080", "smtp": "127.0.0.1:2525"},
		"inboxd ready http=[::1]:1 smtp=[::1]:2 https=[::1]:3\r\n": {"http": "[::1]:1", "smtp": "[::1]:2", "https": "[::1]:3"},
		"inboxd ready":                          nil,
		"inboxd ready soon":                     nil,
		"constant ready http=127.0.0.1:1":       nil,
		"INFO inboxd ready http=127.0.0.1:8080": nil,
		"inboxd readying http=127.0.0.1:8080":   nil,
		"":                                      nil,
	} {
		got, ok := drive.ParseReady("inboxd", line)
		if ok != (want != nil) || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", line, got, ok)
		}
	}
}

func TestServerStartsStopsAndLeavesNothing(t *testing.T) {
	bed := fakeBed(t)
	if len(bed.Keys) != 2 || bed.Keys[0] == bed.Keys[1] {
		t.Errorf("bed %+v", bed)
	}
	pid := bed.Server.Proc.PID()
	if mib, err := bed.Server.Proc.ResidentMiB(); err != nil || mib < 1 {
		t.Errorf("resident %v MiB, %v", mib, err)
	}
	if err := bed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d still there: %v", pid, err)
	}
	if _, err := os.Stat(bed.dir); !os.IsNotExist(err) {
		t.Errorf("folder %s still there", bed.dir)
	}
}

func TestServerThatDoesNotStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "program")
	for code, want := range map[string]string{"3": "exit status 3", "0": "exit code 0; " + script + " may be no inboxd"} {
		if err := os.WriteFile(script, []byte("#!/bin/sh\necho the folder is in use >&2\nexit "+code+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Prepare(t.Context(), "test", ServerOptions{Inboxd: script, Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "ended before it was ready: "+want) || !strings.Contains(err.Error(), "the folder is in use") {
			t.Errorf("exit code %s: error %v", code, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "inbox-bench-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOnlyLoopback(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1:80": true, "127.8.8.8:80": true, "[::1]:80": true, "localhost:80": true,
		"10.0.0.1:80": false, "0.0.0.0:80": false, "example.test:80": false, "127.0.0.1": false, "localhost.example.test:80": false,
	} {
		if err := fakes.OnLoopback(addr); (err == nil) != ok {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestMissingPostfixNamesThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := lookPostfix("smtp-nothing"); err == nil || !strings.Contains(err.Error(), "package postfix") {
		t.Errorf("error %v", err)
	}
}
