package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// inboxProgram builds the command inbox and returns its path.
func inboxProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inbox")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "inboxd/cmd/inbox").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// inboxCommand runs the command with a key of the account.
type inboxCommand struct {
	*user
	path string
}

// run returns what the command prints, and its exit code.
func (c *inboxCommand) run(t *testing.T, input string, args ...string) (out, complaint string, code int) {
	t.Helper()
	cmd := c.program(t, ".", c.path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// prints requires exit code 0 and output that matches a pattern, and returns the output.
func (c *inboxCommand) prints(t *testing.T, pattern, input string, args ...string) string {
	t.Helper()
	out, complaint, code := c.run(t, input, args...)
	if code != 0 || !regexp.MustCompile("^(?:"+pattern+")$").MatchString(out) {
		t.Errorf("inbox %v: exit %d, %q %s, want %s", args, code, out, complaint, pattern)
	}
	return strings.TrimSpace(out)
}

// fails requires an exit code and a part of what it writes to standard error.
func (c *inboxCommand) fails(t *testing.T, code int, part string, args ...string) {
	t.Helper()
	out, complaint, got := c.run(t, "", args...)
	if got != code || out != "" || !strings.HasPrefix(complaint, "inbox: ") || !strings.Contains(complaint, part) {
		t.Errorf("inbox %v: exit %d, %q %s, want %d and %q", args, got, out, complaint, code, part)
	}
}

// tail follows the events of all inboxes and returns what the command prints, once it has printed the
// first one. That of a message to spare shows that it follows.
func (c *inboxCommand) tail(t *testing.T, spare string) *bufio.Reader {
	t.Helper()
	cmd := c.program(t, ".", c.path, "tail")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines, follows := bufio.NewReader(out), make(chan error, 1)
	go func() {
		_, err := lines.Peek(1)
		follows <- err
	}()
	for again := time.NewTicker(200 * time.Millisecond); ; {
		if err := c.server.mail(spare, "111111"); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-follows:
			again.Stop()
			if err != nil {
				t.Fatal(err)
			}
			return lines
		case <-again.C:
		}
	}
}

// TestInboxCommand uses each command as a person and as a script does.
func TestInboxCommand(t *testing.T) {
	u := launch(t, filepath.Join(t.TempDir(), "data")).signUp(t, "me@example.test")
	c := &inboxCommand{u, inboxProgram(t)}
	address := c.prints(t, "shop@inbox.localhost\n", "", "new", "--prefix", "shop", "--label", "Shop")
	guest := c.prints(t, `\S+@inbox.localhost\n`, "", "new")
	c.prints(t, `\{"address":"other@inbox.localhost",.*"label":"Other".*\}\n`, "", "new", "--prefix=other", "--label=Other", "--json")

	lines := c.tail(t, guest)

	c.fails(t, 124, "timed out: no matching message arrived within 1 s", "wait", address, "--otp", "--timeout", "1")
	u.server.send(t, "shop@far.test", address, "From: shop@far.test\r\nSubject: Sign in\x1b[2J\r\n\r\nYour code is 482913\r\n", nil)
	c.prints(t, "482913\n", "", "wait", address, "--otp", "--from", "@far.test")
	c.fails(t, 124, "code 482913, confidence 0.9", "wait", address, "--otp", "--timeout", "1")
	c.prints(t, `1\t\S+ \S+\tshop@far.test\tSign in \[2J\t482913\n`, "", "read", address)
	c.prints(t, `(?s)Id: 1\n.*Subject: Sign in \[2J\nCode: 482913\n\nYour code is 482913\n`, "", "read", address, "1")
	var read struct {
		OTPCode string `json:"otp_code"`
	}
	if err := json.Unmarshal([]byte(c.prints(t, `\{.*\}\n`, "", "read", address, "1", "--json")), &read); err != nil || read.OTPCode != "482913" {
		t.Errorf("%+v %v", read, err)
	}
	u.server.send(t, "shop@far.test", address, "From: shop@far.test\r\nSubject: Confirm\r\n\r\nConfirm your address: https://far.test/confirm?token=abcdefgh1234\r\n", nil)
	c.prints(t, "https://far.test/confirm.token=abcdefgh1234\n", "", "wait", address, "--link")

	id := c.prints(t, `\d+\n`, "Hello\n", "send", guest, address, "--subject", "Lunch", "--wait")
	c.prints(t, `(?s).*Subject: Lunch\n\nHello\n`, "", "wait", address, "--subject", "lunch")
	c.prints(t, id+`\t.*\tLunch\t(sent|unsigned)\n`, "", "read", guest, "--sent")
	for _, subject := range []string{"Sign in", "Confirm", "Lunch"} {
		var err error
		for line := ""; !strings.Contains(line, "\tmessage.received\t"+address+"\t") || !strings.Contains(line, subject); {
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatalf("tail ends before %s: %v", subject, err)
			}
		}
	}

	c.fails(t, 1, "No inbox nobody@inbox.localhost", "wait", "nobody@inbox.localhost")
	c.fails(t, 1, "The address shop@inbox.localhost is taken", "new", "--prefix", "shop")
	c.fails(t, 1, "--otp and --link can't be used together", "wait", address, "--otp", "--link")
	c.more = []string{"INBOX_API_KEY="}
	c.fails(t, 1, "the API key is missing: set INBOX_API_KEY", "new")
	c.more = []string{"INBOX_BASE_URL=localhost:8080"}
	c.fails(t, 1, `invalid base URL "localhost:8080": use`, "new")
	c.prints(t, `(?s)Usage: inbox <command>.*Exit status: 0 found or done, 1 error, 124 timed out.*`, "")
}
