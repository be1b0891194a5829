// Package search is what a search in an inbox needs beside the mails: their texts, folded once
// and kept for a while, and turns, so that few searches run at once. It knows texts and
// accounts; it refuses to know requests, views and where a mail is stored (ADR 0045).
package search

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// keptBytes bounds what Texts keeps.
	keptBytes = 64 << 20
	// besideText is about what a kept text takes beside its bytes: its key and its places in
	// two maps.
	besideText = 128
	// Between stands between the parts of a text. No valid UTF-8 holds it, so no query does.
	Between = "\xff"
)

// Mail names a mail. An address never gives an id twice while its account is there; the time,
// in Unix milliseconds, tells apart what another account has there later.
type Mail struct {
	Address string
	ID, At  int64
	Head    bool // its subject and sender alone
}

// Texts keeps what mails are searched in. It has two halves: when the newer is full the older
// goes, but for what was asked for meanwhile. Any goroutine may use it.
type Texts struct {
	half int64 // bytes

	mu           sync.Mutex // guards all below
	newer, older map[Mail]string
	held         int64 // bytes in newer
}

// NewTexts returns Texts that hold nothing.
func NewTexts() *Texts { return &Texts{half: keptBytes / 2, newer: map[Mail]string{}} }

// Of returns what m is searched in, if it is kept.
func (t *Texts) Of(m Mail) (text string, kept bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text, kept = t.newer[m]; !kept {
		if text, kept = t.older[m]; kept {
			t.keep(m, text)
		}
	}
	return text, kept
}

// Keep keeps the text of m, unless it is too long to be kept.
func (t *Texts) Keep(m Mail, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(m, text)
}

func (t *Texts) keep(m Mail, text string) {
	size := int64(len(text) + besideText)
	switch {
	case size > t.half:
		return
	case t.held+size > t.half:
		t.newer, t.older, t.held = map[Mail]string{}, t.newer, 0
	}
	t.newer[m] = text
	t.held += size
}

// Join makes one text of several, so that nothing is found across two of them.
func Join(folded ...string) string { return strings.Join(folded, Between) }

// Fold composes letters (NFC), and maps each to the smallest of its case variants (Unicode simple
// folding).
func Fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, norm.NFC.String(s))
		}
	}
	return strings.ToUpper(s) // in ASCII the capitals come first, whatever variants lie beyond
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for v := unicode.SimpleFold(r); v != r; v = unicode.SimpleFold(v) {
		least = min(least, v)
	}
	return least
}
