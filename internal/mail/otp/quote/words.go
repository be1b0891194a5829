package quote

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"

	"inboxd/internal/mail/otp/text"
)

//go:embed words.tsv
var wordTable string

// markWords are the folded words that mark an older message, by the names of their rows in words.tsv.
var markWords = func() map[string][][]byte {
	m := map[string][][]byte{}
	for columns := range text.TableRows(wordTable) {
		for word := range strings.SplitSeq(columns[1], ", ") {
			m[columns[0]] = append(m[columns[0]], text.Fold(word).Lower)
		}
	}
	return m
}()

// fieldSet is a set of header fields that e-mail clients show above a quotation.
type fieldSet uint8

// The header fields.
const (
	fromField fieldSet = 1 << iota
	sentField
	toField
	subjectField
	copyField
)

// headerFields maps the folded names in words.tsv to their header fields. If several fields have
// the same name in some languages, the first one counts.
var headerFields = func() map[string]fieldSet {
	m := map[string]fieldSet{}
	for i, which := range []string{"from", "sent", "to", "subject", "copy"} {
		for _, name := range markWords[which] {
			if m[string(name)] == 0 {
				m[string(name)] = 1 << i
			}
		}
	}
	return m
}()

// maxMarked is the length in bytes of the longest line that is searched for words. Attribution
// lines are shorter.
const maxMarked = 300

// hasAny reports whether a folded line contains one of the marks as a whole word.
func hasAny(l []byte, which string) bool {
	return len(l) <= maxMarked && slices.ContainsFunc(markWords[which], func(w []byte) bool {
		i := bytes.Index(l, w)
		return i >= 0 && !inWord(l, i) && !inWord(l, i+len(w))
	})
}

// inWord reports whether position i is inside a word of ASCII letters. Other scripts may have no
// spaces between words, so their letters do not count.
func inWord(l []byte, i int) bool {
	return 0 < i && i < len(l) && text.InRange(l[i-1], 'a', 'z') && text.InRange(l[i], 'a', 'z')
}

// ParsePrefixes reports whether the first prefix of a subject says that the message is a reply ("Re:")
// or that it is forwarded ("Fwd:"), in any language. stem is the subject without its prefixes.
func ParsePrefixes(subject string) (reply, forward bool, stem string) {
	stem = strings.TrimSpace(subject)
	if rest, ok := strings.CutPrefix(stem, "["); ok { // "[External] Re: ..."
		if _, behind, ok := strings.Cut(rest, "]"); ok {
			if r, f, s := untaggedPrefixes(strings.TrimSpace(behind)); r || f {
				return r, f, s
			}
		}
	}
	return untaggedPrefixes(stem)
}

// untaggedPrefixes is ParsePrefixes for a subject without a tag in brackets at the front.
func untaggedPrefixes(stem string) (reply, forward bool, rest string) {
	for first := true; ; first = false {
		if _, _, ok := cutColon(stem[:min(len(stem), maxPrefix)]); !ok {
			return reply, forward, stem
		}
		folded := text.Fold(stem[:min(len(stem), maxPrefix)]).Lower
		name, _, ok := bytes.Cut(folded, []byte(":"))
		name, _, _ = bytes.Cut(name, []byte("[")) // "Re[2]:"
		name, _, _ = bytes.Cut(name, []byte("("))
		name = bytes.TrimSpace(name)
		is := func(which string) bool {
			return ok && slices.ContainsFunc(markWords[which], func(w []byte) bool { return bytes.Equal(w, name) })
		}
		again, passed := is("re"), is("fwd")
		if !again && !passed {
			return reply, forward, stem
		}
		if first {
			reply, forward = again, passed
		}
		_, stem, _ = cutColon(stem)
		stem = strings.TrimSpace(stem)
	}
}

// maxPrefix is the length of the longest prefix with its colon, in bytes.
const maxPrefix = 40

// cutColon cuts a line at its first colon, which may be full-width.
func cutColon(l string) (name, value string, ok bool) {
	for i := range len(l) {
		if l[i] == ':' {
			return l[:i], l[i+1:], true
		}
		if l[i] == "："[0] && strings.HasPrefix(l[i:], "：") {
			return l[:i], l[i+len("："):], true
		}
	}
	return l, "", false
}
