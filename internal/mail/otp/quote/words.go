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

// marks are the texts that mark an older message, by their names in words.tsv.
var marks = func() map[string][][]byte {
	m := map[string][][]byte{}
	for columns := range text.Rows(wordTable) {
		for word := range strings.SplitSeq(columns[1], ", ") {
			m[columns[0]] = append(m[columns[0]], text.Fold(word).Lower)
		}
	}
	return m
}()

// field is a field of a message's header, as mail programs show it above a quotation.
type field uint8

const (
	fromField field = 1 << iota
	sentField
	toField
	subjectField
	copyField
)

// fields are the names of them in words.tsv, folded. A name that several have counts for the first.
var fields = func() map[string]field {
	m := map[string]field{}
	for i, which := range []string{"from", "sent", "to", "subject", "copy"} {
		for _, name := range marks[which] {
			if m[string(name)] == 0 {
				m[string(name)] = 1 << i
			}
		}
	}
	return m
}()

// maxMarked is the length of the longest line that is searched for words: those that mark a quotation are no longer.
const maxMarked = 300

// hasAny reports whether one of the marks stands in a folded line, and is no piece of a longer word.
func hasAny(l []byte, which string) bool {
	return len(l) <= maxMarked && slices.ContainsFunc(marks[which], func(w []byte) bool {
		i := bytes.Index(l, w)
		return i >= 0 && !inWord(l, i) && !inWord(l, i+len(w))
	})
}

// inWord reports whether ASCII letters stand on both sides of l[i]: other scripts may have no spaces between words.
func inWord(l []byte, i int) bool {
	return 0 < i && i < len(l) && text.Between(l[i-1], 'a', 'z') && text.Between(l[i], 'a', 'z')
}

// Prefixed reports what the first prefix of a subject says: that the message answers another one, or that it
// forwards one. stem is the subject without any prefixes.
func Prefixed(subject string) (reply, forward bool, stem string) {
	stem = strings.TrimSpace(subject)
	if rest, ok := strings.CutPrefix(stem, "["); ok { // "[External] Re: ..."
		if _, behind, ok := strings.Cut(rest, "]"); ok {
			if r, f, s := prefixes(strings.TrimSpace(behind)); r || f {
				return r, f, s
			}
		}
	}
	return prefixes(stem)
}

func prefixes(stem string) (reply, forward bool, rest string) {
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
			return ok && slices.ContainsFunc(marks[which], func(w []byte) bool { return bytes.Equal(w, name) })
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

// maxPrefix is the length of the longest prefix, its colon included.
const maxPrefix = 40

// cutColon cuts a line at its first colon, of any script.
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
