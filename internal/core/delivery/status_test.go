package delivery

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestStatus runs the stories of testdata/status.
func TestStatus(t *testing.T) {
	datadriven.Walk(t, "testdata/status", func(t *testing.T, path string) {
		var s story
		datadriven.RunTest(t, path, s.play)
	})
}

type story struct {
	recipients []RecipientState
	unsigned   bool
}

func (s *story) play(t *testing.T, d *datadriven.TestData) string {
	args := make([]string, len(d.CmdArgs))
	for i, a := range d.CmdArgs {
		args[i] = a.Key
	}
	if d.Cmd == "mail" {
		*s = story{unsigned: slices.Contains(args, "unsigned")}
		for _, email := range args {
			if email != "unsigned" {
				s.recipients = append(s.recipients, RecipientState{Email: email, Status: StatusQueued})
			}
		}
		return s.String()
	}
	i := slices.IndexFunc(s.recipients, func(r RecipientState) bool { return r.Email == args[0] })
	r := &s.recipients[i]
	switch d.Cmd {
	case "attempt":
		o := AttemptOutcome(slices.Index(outcomeNames[:], args[1]))
		if !r.Status.IsFinal() {
			r.Error = d.Input
		}
		r.Status = r.Status.AfterAttempt(o, slices.Contains(args, "expired"), !s.unsigned)
	case "bounce":
		if now := r.Status.AfterBounce(); now != r.Status {
			r.Status, r.Error = now, d.Input
		}
	default:
		t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
	return s.String()
}

func (s *story) String() string {
	var words []string
	for _, r := range s.recipients {
		words = append(words, r.Email+" "+r.Status.String())
	}
	status, sendError := MessageStatus(s.recipients, s.unsigned)
	line := fmt.Sprintf("message %s", status)
	if sendError != "" {
		line += ": " + sendError
	}
	return strings.Join(words, ", ") + "\n" + line + "\n"
}
