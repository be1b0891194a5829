package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
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

// TestConfigFileErrorsHaveAPlace: line, column, and the flag that was meant.
func TestConfigFileErrorsHaveAPlace(t *testing.T) {
	config := filepath.Join(t.TempDir(), "inboxd.toml")
	for text, want := range map[string]string{
		"http = \"127.0.0.1:0\"\n  smpt = \"x\"\n": `:2:3: the config file has the unknown key "smpt". Did you mean one of "smtp", "smtps"? inboxd serve --help`,
		"limit = 3\n":                           `:1:1: the config file has the unknown key "limit". inboxd serve --help`,
		"[plans.free]\nhttp = 1\n[plan.free]\n": `:3:2: the config file has the unknown key "plan". Did you mean "`,
		"http = \"a\nb\"\n":                     `:1:10: the config file is not valid TOML`,
	} {
		writeFile(t, config, text)
		out, code := run("serve", "--config", config)
		if code == 0 || !strings.Contains(out, "--config: "+config+want) && !strings.Contains(out, "error: "+config+want) {
			t.Errorf("%q: exit %d, %s", text, code, out)
		}
	}
}

// TestPublicNodeConfiguration: docs/operate/inboxd.toml has only known keys, and values that work.
func TestPublicNodeConfiguration(t *testing.T) {
	t.Setenv("INBOXD_SMARTHOST_PASSWORD", "secret")
	var cli commandLine
	k, err := kong.New(&cli, kongOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse([]string{"serve", "--config", filepath.Join("..", "..", "docs", "operate", "inboxd.toml")}); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.Serve.parseSettings(slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if c := cli.Serve; c.Domain != "mail.example.com" || !c.ACME || c.HTTPS != "0.0.0.0:443" || c.Plans["paid"]["sends_per_day"] != int64(5000) {
		t.Errorf("%+v", c)
	}
}

// TestVariablesAreTheServers: no variable changes what a command does, and help shows defaults.
func TestVariablesAreTheServers(t *testing.T) {
	help, _ := run("admin", "queue", "list", "--help")
	if strings.Contains(help, "INBOXD_LIMIT") || !strings.Contains(help, "INBOXD_DATA") || !strings.Contains(help, "INBOXD_ADMIN_SOCKET") {
		t.Error(help)
	}
	help, _ = run("serve", "--help")
	for _, want := range []string{"(default: 127.0.0.1:8080)", "(default: 512MiB)", "(default: none)", "$INBOXD_SMARTHOST_PASSWORD"} {
		if !strings.Contains(strings.Join(strings.Fields(help), " "), want) {
			t.Errorf("%s is not in\n%s", want, help)
		}
	}
}

// TestACMEThatCannotWork is refused at the start.
func TestACMEThatCannotWork(t *testing.T) {
	for _, c := range []struct {
		flags serveCommand
		want  string
	}{
		{serveCommand{edgeFlags: edgeFlags{HTTPS: "0.0.0.0:443"}, Domain: "mail.example.com"}, ""},
		{serveCommand{HTTP: ":80", Domain: "mail.example.com"}, ""},
		{serveCommand{edgeFlags: edgeFlags{HTTPS: "0.0.0.0:443"}, Domain: "inbox.localhost"}, "--acme: inbox.localhost is not a public domain name"},
		{serveCommand{edgeFlags: edgeFlags{HTTPS: "0.0.0.0:443"}, Domain: "co.uk"}, "--acme: co.uk is not a public domain name"},
		{serveCommand{edgeFlags: edgeFlags{HTTPS: "0.0.0.0:443"}, Domain: "mail.example.com", BaseURL: "https://192.0.2.1"}, "--acme: 192.0.2.1 is not a public domain name"},
		{serveCommand{edgeFlags: edgeFlags{HTTPS: "0.0.0.0:8443"}, Domain: "mail.example.com"}, "--acme: the authority connects to port 443 or 80"},
		{serveCommand{edgeFlags: edgeFlags{HTTPS: "127.0.0.1:443"}, Domain: "mail.example.com"}, "--acme: the authority connects to port 443 or 80"},
	} {
		c.flags.ACME = true
		_, err := c.flags.configureTLS(c.flags.Domain, slog.New(slog.DiscardHandler))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.flags.edgeFlags, err, c.want)
		}
	}
}
