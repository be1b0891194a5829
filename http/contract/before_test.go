package contract_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"inboxd/http/contract"
)

// change is a change that breaks clients of the previous version, as oasdiff reports it.
type change struct {
	Text        string
	Operation   string
	Path        string
	OperationID string
}

// breaking compares the contract of the previous version with another one.
func breaking(t *testing.T, now []byte) []change {
	t.Helper()
	revision := filepath.Join(t.TempDir(), "now.json")
	if err := os.WriteFile(revision, now, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := filepath.Abs("testdata/before.json")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-C", "../../clients/generated/go", "oasdiff", "breaking", before, revision, "-f", "json")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, complaint.String())
	}
	var changes []change
	if err := json.Unmarshal(said, &changes); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return changes
}

var (
	newest = regexp.MustCompile(`(?s)\n## [^\n]+\n(.*?)(\n## |$)`)
	bullet = regexp.MustCompile(`(?m)^- Contract: .*(\n  .*)*`)
	quoted = regexp.MustCompile("`[^`]+`")
)

// untold returns the changes that no line "- Contract: ..." of the newest section of the changelog names: by
// the id of their operation or, without one, by the first name that oasdiff quotes.
func untold(changes []change, changelog string) (missing []change) {
	var said string
	if m := newest.FindStringSubmatch(changelog); m != nil {
		said = strings.Join(bullet.FindAllString(m[1], -1), "\n")
	}
	for _, c := range changes {
		name := quoted.FindString(c.Text)
		if c.OperationID != "" {
			name = "`" + c.OperationID + "`"
		}
		if name == "" || !strings.Contains(said, name) {
			missing = append(missing, c)
		}
	}
	return missing
}

// TestNoClientBreaksUntold: a change that breaks clients of the previous version needs a line in
// CHANGELOG.
func TestNoClientBreaksUntold(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches and builds oasdiff")
	}
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range untold(breaking(t, contract.OpenAPI().BodyBytes), string(changelog)) {
		t.Errorf("%s %s (%s): %s: clients of the version before break, and no line \"- Contract:\" of CHANGELOG names it", c.Operation, c.Path, c.OperationID, c.Text)
	}
}

// TestABreakIsFound: the test above detects a breaking change.
func TestABreakIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches and builds oasdiff")
	}
	stored, err := os.ReadFile("testdata/before.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(stored, &doc); err != nil {
		t.Fatal(err)
	}
	var webhooks map[string]json.RawMessage
	if err := json.Unmarshal(doc["webhooks"], &webhooks); err != nil {
		t.Fatal(err)
	}
	delete(webhooks, "message.failed")
	doc["webhooks"], _ = json.Marshal(webhooks)
	doc["paths"] = json.RawMessage(strings.Replace(string(doc["paths"]), `"required": ["to"]`, `"required": ["to", "subject"]`, 1))
	broken, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	changes := breaking(t, broken)
	if left := untold(changes, "# Changelog\n\n## Unreleased\n\n- `sendMessage`, `message.failed`\n\n## 0.1\n\n- Contract: `sendMessage`\n"); len(left) != 2 {
		t.Errorf("nobody told of these, and only these are missed: %+v", left)
	}
	if left := untold(changes, "# Changelog\n\n## Unreleased\n\n- Contract: `sendMessage` needs a subject,\n  `message.failed` is gone.\n"); len(left) != 0 {
		t.Errorf("all were told, and yet: %+v", left)
	}
}
