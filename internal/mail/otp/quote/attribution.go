package quote

import (
	"bytes"
	"strings"

	"inboxd/internal/mail/otp/text"
)

func endsWithColon(l string) bool { return strings.HasSuffix(l, ":") || strings.HasSuffix(l, "：") }

// startsWithDash reports whether a line may be a rule with words in it: "-----Original Message-----".
func startsWithDash(l string) bool {
	return len(l) > 6 && (l[0] == '-' || strings.HasPrefix(l, "–") || strings.HasPrefix(l, "—"))
}

// fold returns a line as words.tsv has them, until the next call.
func (f *finder) fold(l string) []byte {
	f.folded = text.Folded{Lower: f.folded.Lower[:0], Plain: f.folded.Plain[:0]}
	f.folded.Fold(l[:min(len(l), 2*maxMarked)])
	return f.folded.Lower
}

// judgeRule judges a line that begins with a dash.
func (f *finder) judgeRule(r *reading) verdict {
	l := f.fold(r.line)
	switch {
	case hasAny(l, "forwarded"):
		f.forward = true
	case f.forward:
	case hasAny(l, "original"):
		return rest
	case bytes.HasSuffix(l, []byte("--")): // "---- On Thu, 26 Nov 2026 10:00:00 +0100 Shop <a@shop.example> wrote ----"
		if e := examine(l); e.enclosed && e.dated() {
			return r.behind()
		}
		next := *r
		if name, _ := nameAndValue(next.following()); f.reply && r.own && name != "" && f.fieldNamed(name) != 0 {
			return rest
		}
	case endsWithColon(r.line) && f.attributes(r):
		return r.behind()
	}
	return own
}

// evidence is what a line has of an attribution.
type evidence struct {
	address  bool // somebody's
	enclosed bool // ... in brackets, behind a name
	before   int  // words in front of the address
	behind   int
	numbers  int // outside of the address
	digits   int
}

// dated reports whether the numbers may be a date.
func (e *evidence) dated() bool { return e.numbers >= 2 && e.digits >= 4 }

// timed reports whether they are a date with its time.
func (e *evidence) timed() bool { return e.numbers >= 4 && e.digits >= 6 }

// near reports whether a name stands before the address, and little behind it.
func (e *evidence) near() bool { return e.enclosed && e.before <= maxNear && e.behind <= maxNear }

// maxNear is how many words the name of a sender has, or what is said of it.
const maxNear = 5

func examine(l []byte) (e evidence) {
	before, behind := l, []byte(nil)
	if at := bytes.IndexByte(l, '@'); at > 0 && at+1 < len(l) && text.IsAlnum(l[at+1]) {
		start, end := at, at
		for start > 0 && inAddress(l[start-1]) {
			start--
		}
		for end < len(l) && inAddress(l[end]) {
			end++
		}
		e.address = start < at
		before, behind = l[:start], l[end:]
		e.enclosed = e.address && start > 0 && (bytes.IndexByte([]byte("<(["), l[start-1]) >= 0 || bytes.HasSuffix(before, []byte("mailto:")))
		e.before, e.behind = len(bytes.Fields(before)), len(bytes.Fields(bytes.TrimLeft(behind, ">)] ,:")))
	}
	for _, part := range [2][]byte{before, behind} {
		for i, c := range part {
			if !text.IsDigit(c) {
				continue
			}
			e.digits++
			if i == 0 || !text.IsDigit(part[i-1]) {
				e.numbers++
			}
		}
	}
	return e
}

func inAddress(c byte) bool {
	return text.IsAlnum(c) || c >= 0x80 || bytes.IndexByte([]byte("@.-_+='%"), c) >= 0
}

// attributes reports whether a line that ends with a colon, alone or with the line above that it ends, says who wrote
// what follows: "On 2 Mar 2026, Ann wrote:", "26.11.2026, 10:00, "Shop" <a@shop.example>:". What says so in no known
// language needs a date and an address behind a name, or, in an answer, one of the two.
func (f *finder) attributes(r *reading) bool {
	if f.attributesAs(r, r.line) {
		return true
	}
	goesOn := r.above != "" && strings.IndexByte(".!?:", r.above[len(r.above)-1]) < 0
	goesOn = goesOn && (r.adjacent || hasAny(f.fold(r.line), "wrote"))
	return goesOn && len(strings.Fields(r.line)) <= maxNear && !f.announces(r.line) && f.attributesAs(r, r.above+" "+r.line)
}

func (f *finder) attributesAs(r *reading, line string) bool {
	if len(line) > 2*maxMarked {
		return false
	}
	l := f.fold(line)
	e := examine(l)
	switch {
	case (e.address || e.digits >= 3) && hasAny(l, "wrote"):
		return true
	case e.enclosed && e.dated():
		return e.timed() && e.behind <= 2 || !f.announces(line)
	case f.reply && r.own && (e.near() || e.timed()):
		return !f.announces(line)
	}
	return false
}

// announces reports whether a line says that a code follows, or that somebody is to sign in.
func (f *finder) announces(line string) bool {
	f.page.Read(line)
	f.page.Split()
	return f.page.Seen&text.Announcing != 0
}
