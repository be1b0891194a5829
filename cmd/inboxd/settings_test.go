package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFlagsThatCanNotBe(t *testing.T) {
	good := serveCommand{HTTP: "127.0.0.1:0", SMTP: "127.0.0.1:0", SMTPMaxConns: 1, SMTPMaxConnsIP: 1}
	for _, c := range []struct {
		change func(*serveCommand)
		want   string
	}{
		{func(*serveCommand) {}, ""},
		{func(c *serveCommand) { c.BaseURL = "https://mail.example.test/inbox/" }, ""},
		{func(c *serveCommand) { c.BaseURL = "http://[::1]:8080" }, ""},
		{func(c *serveCommand) { c.BaseURL = "mail.example.test" }, "--base-url:"},
		{func(c *serveCommand) { c.BaseURL = "not a url" }, "--base-url:"},
		{func(c *serveCommand) { c.BaseURL = "ftp://mail.example.test" }, "--base-url:"},
		{func(c *serveCommand) { c.BaseURL = "https://" }, "--base-url:"},
		{func(c *serveCommand) { c.BaseURL = "https://mail.example.test/?a=b" }, "--base-url:"},
		{func(c *serveCommand) { c.HTTP = "" }, "--http must"},
		{func(c *serveCommand) { c.SMTP = "" }, "--smtp must"},
		{func(c *serveCommand) { c.SMTPMaxConns = 0 }, "--smtp-max-conns: invalid number 0"},
		{func(c *serveCommand) { c.SMTPMaxConnsIP = -1 }, "--smtp-max-conns-per-ip: invalid number -1"},
		{func(c *serveCommand) { c.HTTPMaxConns = -1 }, "--http-max-conns: invalid number -1"},
		{func(c *serveCommand) { c.Drain = -time.Second }, "--drain: invalid duration -1s"},
	} {
		flags := good
		c.change(&flags)
		switch err := flags.validateFlags(); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %q", flags, err, c.want)
		case strings.HasSuffix(flags.BaseURL, "/") && err == nil:
			t.Errorf("%s keeps its slash", flags.BaseURL)
		}
	}
}

// TestPrecedence: a flag wins over its variable, and a variable over the config file.
func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "inboxd.toml")
	if err := os.WriteFile(config, []byte("domain = \"file.test\"\nmx-host = \"file.test\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INBOXD_DOMAIN", "env.test")
	for _, c := range []struct{ args, domain string }{{"", "env.test"}, {"--domain=flag.test", "flag.test"}} {
		s := launch(t, filepath.Join(dir, c.domain), strings.Fields("--config "+config+" "+c.args)...)
		if address := s.signUp(t, "me@example.test").inbox(t, "me"); address != "me@"+c.domain {
			t.Errorf("%q gives %s", c.args, address)
		}
	}
	if err := os.WriteFile(config, []byte("mx-host = [\"a.test\", \"b.test\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryLaunch(filepath.Join(dir, "list"), "--config", config); err == nil || !strings.Contains(err.Error(), "mx-host takes one value") {
		t.Errorf("a list for one value: %v", err)
	}
}

// TestWrongFlagsSayWhatIsRight: the error for a wrong value names the flag and the valid values.
func TestWrongFlagsSayWhatIsRight(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--log-level", "loud", `--log-level: invalid level "loud" (debug, info, warn or error)`},
		{"--memory", "8589934592GiB", `--memory: invalid size "8589934592GiB" (use a whole number with B, KiB, MiB or GiB, such as 512MiB)`},
		{"--memory", "10TiB", `--memory: invalid size "10TiB" (use a whole number with B, KiB, MiB or GiB, such as 512MiB)`},
		{"--config", "/nope", "--config: cannot read /nope: open /nope: no such file or directory"},
	} {
		out, code := run("serve", c.flag, c.value)
		if code == 0 || !strings.Contains(out, "inboxd: error: "+c.want+"\n") {
			t.Errorf("%s %s: exit %d, %s", c.flag, c.value, code, out)
		}
	}
}
