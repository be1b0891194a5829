package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/testutil/testtools"
)

// TestWatching compares docs/operate with the metrics of a server: the page that lists them, the
// rules for Prometheus, and the dashboard for Grafana. promtool accepts all of it, and the rules
// fire as they should for made-up values.
func TestWatching(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), writePair(t, t.TempDir(), 1)...)
	s.signUp(t, "me@example.test")
	metrics := s.scrape(t)
	help := map[string]string{ // these appear with the first invitation
		"inboxd_meetings_merged_total":       "Mails that spoke of a meeting, by what they did to it.",
		"inboxd_meeting_mails_refused_total": "Those that did not count, by reason.",
	}
	for _, line := range regexp.MustCompile(`(?m)^# HELP (inboxd_\w+) (.*)$`).FindAllStringSubmatch(metrics, -1) {
		help[line[1]] = line[2]
	}
	reported := map[string]string{}
	for _, line := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|.*\\| (.*) \\|$").FindAllStringSubmatch(readOperate(t, "metrics.md"), -1) {
		reported[line[1]] = line[2]
	}
	for name, what := range help {
		if reported[name] != what {
			t.Errorf("metrics.md says of %s %q, the server %q", name, reported[name], what)
		}
	}
	for name := range reported {
		if help[name] == "" {
			t.Errorf("metrics.md lists %s, which the server does not give", name)
		}
	}
	rules, exprs := readOperate(t, "alerts.yml"), dashboardExprs(t)
	for _, name := range regexp.MustCompile(`inboxd_\w+`).FindAllString(rules+strings.Join(exprs, "\n"), -1) {
		if help[strings.TrimSuffix(name, "_bucket")] == "" {
			t.Errorf("no metric is called %s", name)
		}
	}

	folder := t.TempDir()
	recorded := "groups:\n- name: dashboard\n  rules:\n"
	for i, expr := range exprs {
		recorded += fmt.Sprintf("  - record: panel:%d\n    expr: %q\n", i, expr)
	}
	writeFile(t, filepath.Join(folder, "alerts.yml"), rules)
	writeFile(t, filepath.Join(folder, "dashboard.yml"), recorded)
	stories, err := os.ReadFile(filepath.Join("testdata", "alerts_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "alerts_test.yml"), string(stories))
	for alert := range strings.SplitSeq(rules, "alert: ") {
		if name, _, _ := strings.Cut(alert, "\n"); strings.HasPrefix(name, "Inboxd") && !strings.Contains(string(stories), "alertname: "+name+"\n") {
			t.Errorf("no story tells of %s", name)
		}
	}
	promtool(t, folder, "", "check", "rules", "alerts.yml", "dashboard.yml")
	promtool(t, folder, "", "test", "rules", "alerts_test.yml")
	promtool(t, folder, metrics, "check", "metrics")
}

// TestPathsOfTheInstallation: the commands of docs/operate name the data folder of the unit and of
// the image, and put backups where the server may write, which is next to it and nowhere else.
func TestPathsOfTheInstallation(t *testing.T) {
	found := func(file, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(readOperate(t, file))
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return m[1]
	}
	live := map[string]string{
		"/var/lib/" + found("inboxd.service", `StateDirectory=(\S+)`): found("inboxd.service", `ExecStart=.* --data (\S+)`),
		found("Dockerfile", `VOLUME (\S+)`):                           found("Dockerfile", `ENV INBOXD_DATA=(\S+)`),
	}
	page := readOperate(t, "README.md")
	for _, m := range regexp.MustCompile(`admin --data (\S+)`).FindAllStringSubmatch(page, -1) {
		if m[1] != found("inboxd.service", `ExecStart=.* --data (\S+)`) {
			t.Errorf("a command names the data folder %s", m[1])
		}
	}
	backups := regexp.MustCompile(` backup (/\S+)`).FindAllStringSubmatch(page, -1)
	if len(backups) != len(live) {
		t.Errorf("%d commands for a backup", len(backups))
	}
	for _, m := range backups {
		if data := live[filepath.Dir(filepath.Dir(m[1]))]; data == "" || strings.HasPrefix(m[1], data+"/") {
			t.Errorf("a backup goes to %s, which is none of %v", m[1], live)
		}
	}
}

func promtool(t *testing.T, folder, input string, args ...string) {
	t.Helper()
	cmd := exec.Command(testtools.ProgramPath(t, "promtool"), args...)
	cmd.Dir, cmd.Stdin = folder, strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

func readOperate(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// scrape returns the content of /metrics.
func (s *server) scrape(t *testing.T) string {
	t.Helper()
	resp, err := http.Get("http://" + s.http + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dashboardExprs returns the expressions of the panels in a form that Prometheus accepts.
func dashboardExprs(t *testing.T) (exprs []string) {
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readOperate(t, "dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, p := range board.Panels {
		if p.Title == "" || slices.Contains(ids, p.ID) || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d, %q, shows nothing, or has another's number", p.ID, p.Title)
		}
		ids = append(ids, p.ID)
		for _, target := range p.Targets {
			exprs = append(exprs, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	if len(exprs) < 30 {
		t.Fatalf("the dashboard asks for %d things", len(exprs))
	}
	return exprs
}
