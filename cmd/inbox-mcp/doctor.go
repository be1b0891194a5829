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
	// questionTimeout limits each request of the doctor.
	questionTimeout = 10 * time.Second
	// maxClockSkew is the largest acceptable difference between the two clocks.
	maxClockSkew = time.Minute
)

type doctorCommand struct{}

// errSick makes the program exit with 1 after the problems were printed.
var errSick = errors.New("no tool can be used with these settings. Fix the problems listed above")

// Run checks what works with these flags, and prints why the rest does not.
func (doctorCommand) Run(ctx context.Context, c *commandLine) error {
	api, err := c.newClient()
	if err != nil {
		return err
	}
	d := &serverCheck{apiClient: api, out: os.Stdout}
	api.HTTP.Transport = &dateRecorder{RoundTripper: api.HTTP.Transport, lastDate: &d.lastDate}
	return d.runChecks(ctx)
}

type serverCheck struct {
	apiClient *client.Client
	out       io.Writer
	lastDate  time.Time // of the latest response, by the server's clock
}

// dateRecorder records the Date header of responses.
type dateRecorder struct {
	http.RoundTripper
	lastDate *time.Time
}

// RoundTrip implements http.RoundTripper.
func (n *dateRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(r)
	if err == nil {
		if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			*n.lastDate = at
		}
	}
	return resp, err
}

func (d *serverCheck) printResult(what, format string, args ...any) {
	fmt.Fprintf(d.out, "%-8s %s\n", what, fmt.Sprintf(format, args...))
}

func (d *serverCheck) runChecks(ctx context.Context) error {
	if err := d.checkServer(ctx); err != nil {
		d.printResult("url", "%s", err)
		return errSick
	}
	d.checkClock()
	if err := d.checkKey(ctx); err != nil {
		d.printResult("key", "%s", err)
		return errSick
	}
	return d.checkTools(d.checkScopes(ctx))
}

// callAPI makes a request that changes nothing.
func (d *serverCheck) callAPI(ctx context.Context, method, path string, in any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	return d.apiClient.Do(ctx, client.Request{Method: method, Path: path, In: in})
}

// checkServer checks whether the responding server is an inbox server.
func (d *serverCheck) checkServer(ctx context.Context) error {
	b, err := d.callAPI(ctx, "GET", "/openapi.json", nil)
	if err != nil {
		return errors.New(toolserver.UnreachableSentence(d.apiClient.BaseURL, toolserver.CauseSentence(err)))
	}
	var contract struct {
		Info struct{ Title, Version string }
	}
	if json.Unmarshal(b, &contract) != nil || contract.Info.Version == "" {
		return errors.New(toolserver.UnreachableSentence(d.apiClient.BaseURL, fmt.Sprintf("unexpected content %.100q", b)))
	}
	d.printResult("url", "%s responds: %s, version %s", d.apiClient.BaseURL, contract.Info.Title, contract.Info.Version)
	return nil
}

func (d *serverCheck) checkClock() {
	if d.lastDate.IsZero() {
		d.printResult("clock", "the server's response has no Date header")
		return
	}
	ahead := time.Since(d.lastDate)
	if ahead.Abs() > maxClockSkew {
		d.printResult("clock", "differs from the server's by %s. Correct one of the two clocks", ahead.Abs().Round(time.Second))
		return
	}
	d.printResult("clock", "agrees with the server's")
}

func (d *serverCheck) checkKey(ctx context.Context) error {
	_, err := d.callAPI(ctx, "GET", "/api/v1/inboxes?limit=1", nil)
	switch client.StatusOf(err) {
	case 0:
		if err != nil {
			return errors.New(toolserver.UnreachableSentence(d.apiClient.BaseURL, toolserver.CauseSentence(err)))
		}
	case 401:
		return fmt.Errorf("the server rejects it: %s. It may be mistyped, expired, revoked, or belong to another server. Check --api-key", refusalText(err))
	}
	kind := "account key: it has access to all inboxes of the account"
	if d.ofOneInbox() {
		kind = "inbox key: it has access to this inbox only"
	}
	d.printResult("key", "valid, %s", kind)
	return nil
}

func (d *serverCheck) ofOneInbox() bool { return strings.HasPrefix(d.apiClient.Credential, "svc_sk_") }

func refusalText(err error) string {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return err.Error()
}

// checkScopes checks each permission with a request that is refused or changes nothing. The server
// checks the permission first, so any other error means that the key has it.
func (d *serverCheck) checkScopes(ctx context.Context) map[string]bool {
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
		_, err := d.callAPI(ctx, p.method, p.path, p.in)
		has[p.scope] = err == nil || client.StatusOf(err) != 0 && !strings.Contains(refusalText(err), "missing the required scope")
	}
	return has
}

// checkTools prints for each tool whether it can be used.
func (d *serverCheck) checkTools(has map[string]bool) error {
	works := 0
	for _, t := range tools.All() {
		switch missing := missingScopes(t, has); {
		case len(missing) > 0:
			d.printResult("tool", "%-22s no: the key is missing the scope %s", t.Name, strings.Join(missing, ", "))
		case t.AccountKey && d.ofOneInbox():
			d.printResult("tool", "%-22s no: it requires an account key", t.Name)
		default:
			d.printResult("tool", "%-22s yes", t.Name)
			works++
		}
	}
	if works == 0 {
		return errSick
	}
	return nil
}

func missingScopes(t tools.Tool, has map[string]bool) (missing []string) {
	for _, scope := range t.Scopes {
		if !has[scope] {
			missing = append(missing, scope)
		}
	}
	return missing
}
