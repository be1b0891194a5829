package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"inboxd/cmd/inbox-mcp/toolserver"
	"inboxd/http/client"
	"inboxd/internal/core/tools"
)

const (
	// patience limits each request of the doctor.
	patience = 10 * time.Second
	// skew is the largest acceptable difference between the two clocks.
	skew = time.Minute
)

type doctorCommand struct{}

// errSick makes the program exit with 1 after the problems were printed.
var errSick = errors.New("no tool can be used with these settings. Fix the problems listed above")

// Run checks what works with these flags, and prints why the rest does not.
func (doctorCommand) Run(ctx context.Context, c *commandLine) error {
	api, err := c.api()
	if err != nil {
		return err
	}
	d := &examination{api: api, out: os.Stdout}
	api.HTTP.Transport = &noting{RoundTripper: api.HTTP.Transport, date: &d.date}
	return d.examine(ctx)
}

type examination struct {
	api  *client.Client
	out  io.Writer
	date time.Time // of the latest response, by the server's clock
}

// noting records the Date header of responses.
type noting struct {
	http.RoundTripper
	date *time.Time
}

// RoundTrip implements http.RoundTripper.
func (n *noting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(r)
	if err == nil {
		if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			*n.date = at
		}
	}
	return resp, err
}

func (d *examination) say(what, format string, args ...any) {
	fmt.Fprintf(d.out, "%-8s %s\n", what, fmt.Sprintf(format, args...))
}

func (d *examination) examine(ctx context.Context) error {
	if err := d.server(ctx); err != nil {
		d.say("url", "%s", err)
		return errSick
	}
	d.clock()
	if err := d.key(ctx); err != nil {
		d.say("key", "%s", err)
		return errSick
	}
	return d.tools(d.scopes(ctx))
}

// ask makes a request that changes nothing.
func (d *examination) ask(ctx context.Context, method, path string, in any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.api.Do(ctx, client.Request{Method: method, Path: path, In: in})
}

// server checks whether the responding server is an inbox server.
func (d *examination) server(ctx context.Context) error {
	b, err := d.ask(ctx, "GET", "/openapi.json", nil)
	if err != nil {
		return errors.New(toolserver.Unreachable(d.api.BaseURL, toolserver.Cause(err)))
	}
	var contract struct {
		Info struct{ Title, Version string }
	}
	if json.Unmarshal(b, &contract) != nil || contract.Info.Version == "" {
		return errors.New(toolserver.Unreachable(d.api.BaseURL, fmt.Sprintf("unexpected content %.100q", b)))
	}
	d.say("url", "%s responds: %s, version %s", d.api.BaseURL, contract.Info.Title, contract.Info.Version)
	return nil
}

func (d *examination) clock() {
	if d.date.IsZero() {
		d.say("clock", "the server's response has no Date header")
		return
	}
	ahead := time.Since(d.date)
	if ahead.Abs() > skew {
		d.say("clock", "differs from the server's by %s. Correct one of the two clocks", ahead.Abs().Round(time.Second))
		return
	}
	d.say("clock", "agrees with the server's")
}

func (d *examination) key(ctx context.Context) error {
	_, err := d.ask(ctx, "GET", "/api/v1/inboxes?limit=1", nil)
	switch client.StatusOf(err) {
	case 0:
		if err != nil {
			return errors.New(toolserver.Unreachable(d.api.BaseURL, toolserver.Cause(err)))
		}
	case 401:
		return fmt.Errorf("the server rejects it: %s. It may be mistyped, expired, revoked, or belong to another server. Check --api-key", refused(err))
	}
	kind := "account key: it has access to all inboxes of the account"
	if d.ofOneInbox() {
		kind = "inbox key: it has access to this inbox only"
	}
	d.say("key", "valid, %s", kind)
	return nil
}

func (d *examination) ofOneInbox() bool { return strings.HasPrefix(d.api.Credential, "svc_sk_") }

func refused(err error) string {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return err.Error()
}

// scopes checks each permission with a request that is refused or changes nothing. The server
// checks the permission first, so any other error means that the key has it.
func (d *examination) scopes(ctx context.Context) map[string]bool {
	nobodys := client.InboxPath("nobody@doctor.invalid", "messages", "1")
	probes := []struct {
		scope, method, path string
		in                  any
	}{
		{"inbox:read", "GET", "/api/v1/inboxes?limit=1", nil},
		{"email:send", "GET", "/api/v1/suppressions?limit=1", nil},
		{"message:write", "DELETE", nobodys, nil},
		{"inbox:manage", "POST", "/api/v1/inboxes", map[string]any{"retention_hours": -1}},
	}
	has := map[string]bool{}
	for _, p := range probes {
		_, err := d.ask(ctx, p.method, p.path, p.in)
		has[p.scope] = err == nil || client.StatusOf(err) != 0 && !strings.Contains(refused(err), "missing the required scope")
	}
	return has
}

// tools prints for each tool whether it can be used.
func (d *examination) tools(has map[string]bool) error {
	works := 0
	for _, t := range tools.All() {
		switch missing := lacking(t, has); {
		case len(missing) > 0:
			d.say("tool", "%-22s no: the key is missing the scope %s", t.Name, strings.Join(missing, ", "))
		case t.AccountKey && d.ofOneInbox():
			d.say("tool", "%-22s no: it requires an account key", t.Name)
		default:
			d.say("tool", "%-22s yes", t.Name)
			works++
		}
	}
	if works == 0 {
		return errSick
	}
	return nil
}

func lacking(t tools.Tool, has map[string]bool) (missing []string) {
	for _, scope := range t.Scopes {
		if !has[scope] {
			missing = append(missing, scope)
		}
	}
	return missing
}
