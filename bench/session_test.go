package bench

import (
	"context"
	"strings"
	"testing"

	"inboxd/bench/drive"
)

// keyedBed is a bed on the fake with a key that was given, which holds nothing yet.
func keyedBed(t *testing.T) *Bed {
	t.Helper()
	of := fakeBed(t)
	return prepared(t, ServerOptions{BaseURL: drive.BaseURL(of.Server.HTTP), SMTP: of.Server.SMTP, APIKey: []string{of.Keys[0]}, Dir: t.TempDir()})
}

func inboxesOf(t *testing.T, bed *Bed) (n int) {
	t.Helper()
	for _, err := range NewAPI(bed.Server.HTTP, bed.Keys[0]).Inboxes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// What takes a session says so before it makes anything, and no account is signed up beside the one that was given.
func TestWhatTakesASessionSaysSo(t *testing.T) {
	for name, load := range map[string]func(context.Context, *Bed) error{
		"webhooks": func(ctx context.Context, bed *Bed) error { return Webhooks(ctx, bed, smallWebhooks()) },
		"poll": func(ctx context.Context, bed *Bed) error {
			opts := smallPoll()
			opts.Variants = []string{"inbox-key", "encrypted"}
			return Poll(ctx, bed, opts)
		},
	} {
		bed := keyedBed(t)
		if err := load(t.Context(), bed); err == nil || !strings.Contains(err.Error(), "needs a session, which no API key gives") {
			t.Errorf("%s: error %v", name, err)
		}
		if n := inboxesOf(t, bed); n > 0 || len(bed.Stay()) > 0 {
			t.Errorf("%s: %d inboxes were made, %q stay", name, n, bed.Stay())
		}
	}
}

func TestIngestWithoutASessionLeavesEncryptedInboxesOut(t *testing.T) {
	needPostfix(t)
	bed := keyedBed(t)
	opts := IngestOptions{Messages: 5, Size: drive.MailSize, Pipelined: []int{1}, Encrypted: 2, Rounds: 1, NoSource: true}
	if err := Ingest(t.Context(), bed, opts); err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(bed.Report.Notes, " "); len(bed.Stay()) > 0 || !strings.Contains(notes, "Encrypted inboxes are left out") || bed.Report.Err() != nil {
		t.Errorf("stay %q, notes %q, %v", bed.Stay(), notes, bed.Report.Err())
	}
}

func TestPollNeedsNoSessionForTheKeyOfTheAccount(t *testing.T) {
	bed := keyedBed(t)
	opts := smallPoll()
	opts.Variants, opts.Rounds = []string{"account-key", "inbox-key", "304", "tag"}, 1
	if err := Poll(t.Context(), bed, opts); err != nil {
		t.Error(err)
	}
	if notes := strings.Join(bed.Report.Notes, " "); !strings.Contains(notes, "Left out: inbox-key.") {
		t.Errorf("notes %q", notes)
	}
}
