// Package search provides what searches in inboxes need besides the messages: a cache of their
// case-folded texts, and turns that limit how many searches run at once. It knows texts and
// accounts. It does not know requests, views or where a message is stored (ADR 0045).
package search

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// keptBytes bounds the cache of Texts.
	keptBytes = 64 << 20
	// besideText is the approximate size of a cached text without its bytes: its key and its
	// entries in two maps.
	besideText = 128
	// Between separates the parts of a text. It is invalid UTF-8, so no query can contain it.
	Between = "\xff"
)

// Mail identifies a message. An address never reuses an id while its account exists. At, in Unix
// milliseconds, distinguishes messages of a later account with the same address.
type Mail struct {
	Address string
	ID, At  int64
	Head    bool // only its subject and sender
}

// Texts caches the searchable texts of messages. It has two halves. When the newer half is full,
// the older one is dropped, except for texts that were used in the meantime. Any goroutine may use
// it.
type Texts struct {
	half int64 // bytes

	mu           sync.Mutex // guards all below
	newer, older map[Mail]string
	held         int64 // bytes in newer
}

// NewTexts returns an empty cache.
func NewTexts() *Texts { return &Texts{half: keptBytes / 2, newer: map[Mail]string{}} }

// Of returns the searchable text of m, if it is cached.
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

// Keep caches the text of m, unless it is too long.
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

// Join joins several texts so that no match can span two of them.
func Join(folded ...string) string { return strings.Join(folded, Between) }

// Fold normalizes s for comparison: it composes letters (NFC), and maps each to the smallest of its
// case variants (Unicode simple case folding).
func Fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, norm.NFC.String(s))
		}
	}
	return strings.ToUpper(s) // in ASCII the capital is the smallest variant
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
