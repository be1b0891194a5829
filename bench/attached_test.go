package bench

import (
	"strings"
	"testing"

	"inboxd/bench/drive"
)

// attached is a bed on the fake as a running server, with the key of one of its accounts.
func attached(t *testing.T) *Bed {
	t.Helper()
	of := fakeBed(t)
	return prepared(t, ServerOptions{BaseURL: drive.BaseURL(of.Server.HTTP), SMTP: of.Server.SMTP, APIKey: of.Keys[:1], Dir: t.TempDir()})
}

func TestAttachedServersGiveNoSession(t *testing.T) {
	needPostfix(t)
	bed := attached(t)
	ingest := IngestOptions{Messages: 5, Size: drive.MailSize, Pipelined: []int{1}, Encrypted: 2, Rounds: 1, NoSource: true}
	if err := Ingest(t.Context(), bed, ingest); err != nil {
		t.Error(err)
	}
	poll := smallPoll()
	poll.Variants, poll.Rounds = []string{"account-key", "inbox-key", "304", "tag"}, 1
	if err := Poll(t.Context(), bed, poll); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"Encrypted inboxes need a server of its own.", "The variant inbox-key needs a server of its own."} {
		if notes := strings.Join(bed.Report.Notes, " "); !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
	if err := bed.Report.Err(); err != nil || bed.Server.describe() != "attached" {
		t.Errorf("%s: %v", bed.Server.describe(), err)
	}
}
