package search

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/text/unicode/norm"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

func TestFold(t *testing.T) {
	for _, pair := range [][2]string{{"Straße K", "sTRASSE k"}, {"Kelvin", "\u212aELVIN"}, {"ſ", "S"}, {"ΣΊΣΥΦΟΣ", "σίσυφος"}, {"plain", "PLAIN"},
		{"Cafe\u0301", "CAFÉ"}, {"A\u030angstro\u0308m", "ångström"}, {"\u212b", "å"}, {"Vie\u0323\u0302t", "việt"}, {"\u1112\u1161\u11ab", "한"}, {"\u0438\u0306", "Й"}} {
		if same := FoldText(pair[0]) == FoldText(pair[1]); same == strings.Contains(pair[0], "ß") {
			t.Errorf("%q and %q: %v", pair[0], pair[1], same)
		}
	}
}

// FuzzFold compares the fast path for ASCII with the general path.
func FuzzFold(f *testing.F) {
	f.Add("aZ{`@[")
	f.Add("\u212a \xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := FoldText(s), strings.Map(foldRune, norm.NFC.String(s)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestNothingIsFoundAcrossParts: no query can contain the separator.
func TestNothingIsFoundAcrossParts(t *testing.T) {
	if joined := JoinParts("AB", "CD"); strings.Contains(joined, "BC") || !strings.Contains(joined, "CD") {
		t.Errorf("%q", joined)
	}
}

// TestTextsAreBounded: used texts stay, unused texts are evicted, and the total never exceeds the
// limit.
func TestTextsAreBounded(t *testing.T) {
	texts := NewTexts()
	texts.halfBytes = 100 * (1000 + besideText)
	text, used := strings.Repeat("x", 1000), TextKey{"a@b.c", 1, 7, false}
	texts.KeepText(used, text)
	for id := range int64(1000) {
		texts.KeepText(TextKey{"a@b.c", id + 2, 7, false}, text)
		if _, kept := texts.Of(used); !kept {
			t.Fatalf("what is used is gone after %d others", id+1)
		}
		if n := len(texts.newerTexts) + len(texts.olderTexts); n > 200 {
			t.Fatalf("%d texts are kept, of at most 200", n)
		}
	}
	if _, kept := texts.Of(TextKey{"a@b.c", 2, 7, false}); kept {
		t.Error("what nobody uses stays")
	}
	if _, kept := texts.Of(TextKey{"a@b.c", 1, 8, false}); kept {
		t.Error("a mail of another time at the same address has its text")
	}
	texts.KeepText(TextKey{"a@b.c", 5000, 7, false}, strings.Repeat("x", int(texts.halfBytes)))
	if _, kept := texts.Of(TextKey{"a@b.c", 5000, 7, false}); kept {
		t.Error("a text that fills it all is kept")
	}
}

// TestTurns: few searches run at once, few of one account are in progress, and a wait ends.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns()
		turns.runningSearches = make(chan struct{}, 1)
		alice, bob := account.ID{1}, account.ID{2}
		done, err := turns.TakeTurn(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		taken := make(chan error, mostOfAccount)
		for range mostOfAccount - 1 {
			go func() {
				done, err := turns.TakeTurn(t.Context(), alice)
				if err == nil {
					done()
				}
				taken <- err
			}()
		}
		synctest.Wait()
		if _, err := turns.TakeTurn(t.Context(), alice); !fault.Is(err, fault.TemporarilyUnavailable) {
			t.Errorf("one too many of an account: %v", err)
		}
		began := time.Now()
		if _, err := turns.TakeTurn(t.Context(), bob); !fault.Is(err, fault.TemporarilyUnavailable) || time.Since(began) != maxTurnWait {
			t.Errorf("a wait without end: %v after %v", err, time.Since(began))
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := turns.TakeTurn(over, bob); !fault.Is(err, fault.TemporarilyUnavailable) {
			t.Errorf("a request that is over: %v", err)
		}
		for range mostOfAccount - 1 { // they came before bob, and their wait has expired too
			if err := <-taken; !fault.Is(err, fault.TemporarilyUnavailable) {
				t.Errorf("a wait without end: %v", err)
			}
		}
		done()
		if done, err = turns.TakeTurn(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		done()
		if len(turns.underway) != 0 || len(turns.runningSearches) != 0 {
			t.Errorf("%d accounts, %d turns are left", len(turns.underway), len(turns.runningSearches))
		}
	})
}

// TestPiecesTakeTurns: pieces wait for each other, and for long calls, but for those no longer than
// a moment.
func TestPiecesTakeTurns(t *testing.T) {
	const pieces, long = 100, 50 * time.Microsecond
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns()
		half := cap(turns.runningSearches)
		all := func() time.Duration {
			began := time.Now()
			var done sync.WaitGroup
			var now atomic.Int64
			for range pieces {
				done.Go(func() {
					turns.RunPiece(func() {
						if n := now.Add(1); n > int64(half) {
							t.Errorf("%d at once", n)
						}
						time.Sleep(long)
						now.Add(-1)
					})
				})
			}
			done.Wait()
			return time.Since(began)
		}
		if took := all(); took > pieces*long {
			t.Errorf("alone they took %v", took)
		}
		var ends []func()
		for range half {
			end, err := turns.WaitTurn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		if took := all(); took < pieces/time.Duration(half)*maxPieceWait || took > pieces*(maxPieceWait+long) {
			t.Errorf("beside what takes long they took %v", took)
		}
		for _, end := range ends {
			end()
		}
		if took := all(); took > pieces*long {
			t.Errorf("alone again they took %v", took)
		}
	})
}
