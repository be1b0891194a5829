// Package spamtest starts real spam scanners for tests: on loopback, in a temporary folder, with a
// few rules and without network lookups. It does not know what is scanned.
package spamtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"inboxd/internal/testutil/testtools"
)

// GTUBE is the text that every scanner treats as spam.
const GTUBE = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"

// rspamdRules check the subject, and whether the envelope was transmitted.
const rspamdRules = `
rspamd_config.TEST_SUBJECT = { callback = function(task) return task:get_subject() == 'casino' end, score = 7.5, description = 'Subject says casino' }
rspamd_config.TEST_GOOD = { callback = function(task) return task:get_subject() == 'hello' end, score = -0.25, description = 'Subject says hello' }
rspamd_config.TEST_ENVELOPE = { callback = function(task)
  local ip = task:get_from_ip()
  return ip and ip:to_string() == '192.0.2.1' and task:get_helo() == 'mx.shop.test' and #task:get_recipients('smtp') == 2
end, score = 0.25, description = 'The envelope is known' }
`

// rspamdConfig is for a folder (1) and an address (2). Its DNS server does not exist.
const rspamdConfig = `
options {
  pidfile = "%[1]s/pid"; control_socket = "%[1]s/control mode=0600"; tempdir = "%[1]s";
  filters = ""; gtube_patterns = "all"; url_tld = "%[1]s/tld";
  dns { nameserver = "127.0.0.1:9"; timeout = 0.2s; retransmits = 0; }
}
logging { type = "console"; level = "warning"; }
actions { reject = 15; }
worker "normal" { bind_socket = "%[2]s"; count = 1; }
lua = "%[1]s/rules.lua";
`

// Rspamd starts rspamd until the test ends and returns its address in the form of --spam. It
// rejects at 15 points.
func Rspamd(t testing.TB) string {
	t.Helper()
	dir, addr := t.TempDir(), freeAddress(t)
	writeFile(t, dir, "rules.lua", rspamdRules)
	writeFile(t, dir, "tld", "com\ntest\n") // the full list takes half a minute to compile without a cache
	writeFile(t, dir, "rspamd.conf", fmt.Sprintf(rspamdConfig, dir, addr))
	args := []string{"-f", "-c", filepath.Join(dir, "rspamd.conf")}
	if os.Geteuid() == 0 {
		args = append(args, "-i") // otherwise it would not run as root
	}
	runProgram(t, addr, "GET /ping HTTP/1.0\r\n\r\n", "pong", "rspamd", args...)
	return "rspamd+http://" + addr
}

// Spamd starts SpamAssassin's spamd, with its rules that need no network, and returns its address
// in the form of --spam. Five points are spam.
func Spamd(t testing.TB) string {
	t.Helper()
	dir, addr := t.TempDir(), freeAddress(t)
	writeFile(t, dir, "local.cf", "required_score 5\ndns_available no\nskip_rbl_checks 1\nuse_bayes 0\n")
	writeFile(t, dir, "plugins.pre", "loadplugin Mail::SpamAssassin::Plugin::Check\nloadplugin Mail::SpamAssassin::Plugin::HeaderEval\n"+
		"loadplugin Mail::SpamAssassin::Plugin::BodyEval\n")
	host, port, _ := net.SplitHostPort(addr)
	args := []string{"--local", "--nouser-config", "--syslog=stderr", "--siteconfigpath=" + dir, "--configpath=" + testtools.FilePath(t, "/usr/share/spamassassin"),
		"--listen=" + host, "--port=" + port, "--max-children=2", "--min-children=1", "--pidfile=" + filepath.Join(dir, "pid"), "--helper-home-dir=" + dir}
	if os.Geteuid() == 0 {
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--username=nobody")
	}
	runProgram(t, addr, "PING SPAMC/1.5\r\n\r\n", "PONG", "spamd", args...)
	return "spamd://" + addr
}

func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// freeAddress is an address without a listener.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// runProgram starts a program in a process group of its own until the test ends, and waits until it
// answers ping at addr.
func runProgram(t testing.TB, addr, ping, pong, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(testtools.ProgramPath(t, program), args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() // the result does not matter: readiness is checked by ping
		close(ended)
	}()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	for limit := time.Now().Add(60 * time.Second); !answersPing(addr, ping, pong); {
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", program, said.String())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(limit) {
			t.Fatalf("%s does not answer", program)
		}
	}
}

// answersPing reports whether a program at addr answers ping with pong.
func answersPing(addr, ping, pong string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	fmt.Fprint(conn, ping)
	buf := make([]byte, 4096)
	for n := 0; ; {
		k, err := conn.Read(buf[n:])
		if n += k; strings.Contains(string(buf[:n]), pong) {
			return true
		}
		if err != nil {
			return false
		}
	}
}
