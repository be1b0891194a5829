package archtest

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// oneMatch returns the group of a pattern that matches a file exactly once.
func oneMatch(t *testing.T, name, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, name), -1)
	if len(m) != 1 {
		t.Fatalf("%s matches %s %d times", name, pattern, len(m))
	}
	return m[0][1]
}

// TestOneVersion: everything that is published has the version of the newest release in CHANGELOG,
// which make dist takes from there.
func TestOneVersion(t *testing.T) {
	m := regexp.MustCompile(`\n## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d\n`).FindStringSubmatch(read(t, "CHANGELOG.md"))
	if m == nil {
		t.Fatal("CHANGELOG.md has no release")
	}
	for _, at := range [][2]string{
		{"clients/python/pyproject.toml", `(?m)^version = "(.*)"$`},
		{"clients/typescript/package.json", `(?m)^  "version": "(.*)",$`},
		{"clients/typescript/package-lock.json", `(?m)^  "version": "(.*)",$`},
		{"clients/typescript/package-lock.json", `(?m)^      "name": "inboxd",\n      "version": "(.*)",$`},
		{"docs/operate/Dockerfile", `(?m)^ARG VERSION=(.*)$`},
		{"cmd/inbox-mcp/manifest.json", `(?m)^  "version": "(.*)",$`},
		{"cmd/inbox-mcp/server.json", `(?m)^  "version": "(.*)",$`},
		{"cmd/inbox-mcp/server.json", `(?m)^      "version": "(.*)",$`},
		{"cmd/inbox-mcp/server.json", `/releases/download/v(.*)/`},
		{"cmd/inbox-mcp/server.json", `/inbox-mcp_(.*)\.mcpb"`},
	} {
		if got := oneMatch(t, at[0], at[1]); got != m[1] {
			t.Errorf("%s has version %s, CHANGELOG.md %s", at[0], got, m[1])
		}
	}
}

// TestImagesAreTheSame: the image of make dist has the settings of the one of the Dockerfile.
func TestImagesAreTheSame(t *testing.T) {
	file := "docs/operate/Dockerfile"
	var image struct {
		User        string
		Env         []string
		Volumes     map[string]struct{}
		Ports       map[string]struct{} `json:"ExposedPorts"`
		Healthcheck struct {
			Test                           []string
			Interval, Timeout, StartPeriod int64
		}
		Entrypoint []string
	}
	if err := json.Unmarshal([]byte(read(t, ".ci/release/image.json")), &image); err != nil {
		t.Fatal(err)
	}
	want := image // without the values
	want.User = oneMatch(t, file, `(?m)^USER (.*)$`)
	want.Env = nil
	for _, line := range regexp.MustCompile(`(?m)^ENV (.*)$`).FindAllStringSubmatch(read(t, file), -1) {
		want.Env = append(want.Env, strings.Fields(line[1])...)
	}
	want.Volumes = map[string]struct{}{oneMatch(t, file, `(?m)^VOLUME (.*)$`): {}}
	want.Ports = map[string]struct{}{}
	for port := range strings.FieldsSeq(oneMatch(t, file, `(?m)^EXPOSE (.*)$`)) {
		want.Ports[port+"/tcp"] = struct{}{}
	}
	want.Entrypoint = nil
	if err := json.Unmarshal([]byte(oneMatch(t, file, `(?m)^ENTRYPOINT (.*)$`)), &want.Entrypoint); err != nil {
		t.Fatal(err)
	}
	want.Healthcheck.Test = nil
	if err := json.Unmarshal([]byte(oneMatch(t, file, `(?m)^HEALTHCHECK .* CMD (.*)$`)), &want.Healthcheck.Test); err != nil {
		t.Fatal(err)
	}
	want.Healthcheck.Test = append([]string{"CMD"}, want.Healthcheck.Test...)
	slices.Sort(want.Env)
	slices.Sort(image.Env)
	if !reflect.DeepEqual(image, want) {
		t.Errorf("image.json is %+v, the Dockerfile says %+v", image, want)
	}
}

// TestWorkflows: the workflows call targets that the Makefile has.
func TestWorkflows(t *testing.T) {
	makefile, called := read(t, "Makefile"), 0
	for _, name := range files(t, ".yml") {
		if !strings.HasPrefix(name, ".github/workflows/") {
			continue
		}
		for _, m := range regexp.MustCompile(`\bmake (?:-s )?([a-z-]+)`).FindAllStringSubmatch(read(t, name), -1) {
			called++
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s calls make %s, which the Makefile does not have", name, m[1])
			}
		}
	}
	if called == 0 {
		t.Error("no workflow calls make")
	}
}
