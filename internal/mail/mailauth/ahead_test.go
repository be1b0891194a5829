package mailauth

import (
	"context"
	"testing"
	"time"
)

// partly has its zone in the cache, except the names in asked.
type partly struct {
	zone
	asked string
}

func (p partly) KnownTXT(name string) ([]string, error, bool) {
	if name == p.asked {
		return nil, nil, false
	}
	records, err := p.get(context.Background(), name)
	return records, err, true
}

// TestDeadlineOnDemand checks that only a query starts the timer, and that the timer ends with the
// verification.
func TestDeadlineOnDemand(t *testing.T) {
	z := partly{zone{"known.example": {"v=spf1 -all"}, "asked.example": {"v=spf1 -all"}}, "asked.example"}
	began := time.Now()
	p := newBounded(t.Context(), z)
	if records, err := p.LookupTXT(t.Context(), "known.example"); err != nil || len(records) != 1 || p.ctx != nil {
		t.Fatalf("%q, %v, with a deadline: %t", records, err, p.ctx != nil)
	}
	if records, err := p.LookupTXT(t.Context(), "asked.example"); err != nil || len(records) != 1 || p.ctx == nil {
		t.Fatalf("%q, %v, with a deadline: %t", records, err, p.ctx != nil)
	}
	if end, ok := p.ctx.Deadline(); !ok || end.Before(began.Add(maxTime)) || end.After(time.Now().Add(maxTime)) {
		t.Errorf("look-ups end %v after the begin", end.Sub(began))
	}
	if p.stopQueries(); p.ctx.Err() == nil {
		t.Error("what is still asked was not broken off")
	}
}

// TestKnownAndAsked checks that a verdict is the same whether its answers are cached or queried.
func TestKnownAndAsked(t *testing.T) {
	z := zone{
		"example.com": {"v=spf1 include:_spf.example.com -all"}, "_spf.example.com": {"v=spf1 ip4:192.0.2.0/24 -all"},
		"_dmarc.example.com": {"v=DMARC1; p=reject"},
	}
	want := verify(plain, z)
	if want.SPF.ResultCode != Pass || want.DMARC.ResultCode != Pass {
		t.Fatalf("%+v", want)
	}
	for _, asked := range []string{"", "example.com", "_spf.example.com", "_dmarc.example.com"} {
		if got := verify(plain, partly{z, asked}); got.SPF != want.SPF || got.DMARC != want.DMARC {
			t.Errorf("asked for %q: %+v, want %+v", asked, got, want)
		}
	}
}
