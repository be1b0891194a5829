package webhook

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEachAttemptHasARecord lists the responses to each attempt of a delivery and its records then,
// newest first. Neither a record nor its id changes when the next attempt is made.
func TestEachAttemptHasARecord(t *testing.T) {
	for story, want := range map[string]string{
		"":                        "7001 0 null retrying next",
		"200":                     "7001 1 200 succeeded",
		"500 503 200":             "7003 3 200 succeeded, 7002 2 503 retrying next, 7001 1 500 retrying next",
		"500 503 500":             "7003 3 500 failed, 7002 2 503 retrying next, 7001 1 500 retrying next",
		"200 again":               "7002 0 null retrying next, 7001 1 200 succeeded",
		"200 again 500":           "7002 2 500 retrying next, 7001 1 200 succeeded",
		"500 500 500 again 200":   "7004 4 200 succeeded, 7003 3 500 failed, 7002 2 500 retrying next, 7001 1 500 retrying next",
		"500 gone":                "7001 1 500 failed",
		"gone":                    "7001 0 null failed",
		"500 500 200 again again": "7004 0 null retrying next, 7003 3 200 succeeded, 7002 2 500 retrying next, 7001 1 500 retrying next",
	} {
		d := Delivery{ID: 7, At: noon, State: StateRetrying, NextAt: noon}
		for i, step := range strings.Fields(story) {
			switch step {
			case "again":
				d.RestartSchedule(noon.Add(time.Hour))
			case "gone":
				d.Cancel(WebhookGone)
			default:
				var status int
				fmt.Sscan(step, &status)
				d.RecordAttempt("https://a/", DeliveryAttempt{At: noon.Add(time.Duration(i) * time.Second), ReceiverResponse: ReceiverResponse{Status: status}}, DefaultSchedule())
			}
		}
		if got := reported(NewestRecords([]Delivery{d}, 0, 100)); got != want {
			t.Errorf("%q: %s, want %s", story, got, want)
		}
	}
}

func reported(records []AttemptRecord) string {
	var all []string
	for _, r := range records {
		one := fmt.Sprintf("%d %d %d %s", r.ID, r.AttemptNumber, r.Status, r.State.WireName())
		if one = strings.Replace(one, " 0 0 ", " 0 null ", 1); !r.NextAt.IsZero() {
			one += " next"
		}
		all = append(all, one)
	}
	return strings.Join(all, ", ")
}

// TestRecordsInPages checks that each record is on exactly one page, whatever the page length.
func TestRecordsInPages(t *testing.T) {
	var all []Delivery // newest first
	for id := int64(9); id > 0; id-- {
		d := Delivery{ID: id, At: noon, State: StateRetrying, NextAt: noon}
		for n := range id % 4 {
			d.RecordAttempt("https://a/", DeliveryAttempt{At: noon.Add(time.Duration(n) * time.Second), ReceiverResponse: ReceiverResponse{Status: 500}}, DefaultSchedule())
		}
		all = append(all, d)
	}
	want := reported(NewestRecords(all, 0, 100))
	for limit := 1; limit < 20; limit++ {
		var pages []string
		for before := int64(0); ; {
			left := all
			for upper := BehindRecord(before); upper > 0 && len(left) > 0 && left[0].ID >= upper; left = left[1:] {
			}
			page := NewestRecords(left[:min(limit+1, len(left))], before, limit)
			if len(page) == 0 {
				break
			}
			if len(page) > limit || OfRecord(page[0].ID) != page[0].Delivery.ID {
				t.Fatalf("limit %d: %d records, the first %d of %d", limit, len(page), page[0].ID, page[0].Delivery.ID)
			}
			pages = append(pages, reported(page))
			before = page[len(page)-1].ID
		}
		if got := strings.Join(pages, ", "); got != want {
			t.Errorf("in pages of %d: %s, want %s", limit, got, want)
		}
	}
}

// TestFewAttemptsAreKept also checks that a delivery does not run out of ids.
func TestFewAttemptsAreKept(t *testing.T) {
	d := Delivery{ID: 7, At: noon, State: StateRetrying, NextAt: noon}
	for n := 0; !d.AttemptsExhausted(DefaultSchedule()); n++ {
		d.RecordAttempt("https://a/", DeliveryAttempt{At: noon.Add(time.Duration(n) * time.Second), ReceiverResponse: ReceiverResponse{Status: 200}}, DefaultSchedule())
		d.RestartSchedule(noon)
	}
	records := NewestRecords([]Delivery{d}, 0, 100)
	if len(records) != 1+triesKept || OfRecord(records[0].ID) != 7 || records[0].ID != records[1].ID+1 {
		t.Errorf("%d records, %d and %d", len(records), records[0].ID, records[1].ID)
	}
}
