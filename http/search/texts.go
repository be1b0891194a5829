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
	// keptBytes bounds the cache of TextCache.
	keptBytes = 64 << 20
	// besideText is the approximate size of a cached text without its bytes: its key and its
	// entries in two maps.
	besideText = 128
	// PartSeparator separates the parts of a text. It is invalid UTF-8, so no query can contain it.
	PartSeparator = "\xff"
)

// TextKey identifies a message. An address never reuses an id while its account exists. At, in Unix
// milliseconds, distinguishes messages of a later account with the same address.
type TextKey struct {
	InboxAddress string
	ID, At       int64
	HeadOnly     bool // only its subject and sender
}

// TextCache caches the searchable texts of messages. It has two halves. When the newer half is full,
// the older one is dropped, except for texts that were used in the meantime. Any goroutine may use
// it.
type TextCache struct {
	halfBytes int64 // bytes

	mu                     sync.Mutex // guards all below
	newerTexts, olderTexts map[TextKey]string
	heldBytes              int64 // bytes in newer
}

// NewTexts returns an empty cache.
func NewTexts() *TextCache {
	return &TextCache{halfBytes: keptBytes / 2, newerTexts: map[TextKey]string{}}
}

// Of returns the searchable text of m, if it is cached.
func (t *TextCache) Of(m TextKey) (text string, kept bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text, kept = t.newerTexts[m]; !kept {
		if text, kept = t.olderTexts[m]; kept {
			t.storeText(m, text)
		}
	}
	return text, kept
}

// KeepText caches the text of m, unless it is too long.
func (t *TextCache) KeepText(m TextKey, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.storeText(m, text)
}

func (t *TextCache) storeText(m TextKey, text string) {
	size := int64(len(text) + besideText)
	switch {
	case size > t.halfBytes:
		return
	case t.heldBytes+size > t.halfBytes:
		t.newerTexts, t.olderTexts, t.heldBytes = map[TextKey]string{}, t.newerTexts, 0
	}
	t.newerTexts[m] = text
	t.heldBytes += size
}

// JoinParts joins several texts so that no match can span two of them.
func JoinParts(folded ...string) string { return strings.Join(folded, PartSeparator) }

// FoldText normalizes s for comparison: it composes letters (NFC), and maps each to the smallest of its
// case variants (Unicode simple case folding).
func FoldText(s string) string {
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
