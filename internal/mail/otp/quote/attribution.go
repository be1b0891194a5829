package quote

import (
	"bytes"
	"strings"

	"inboxd/internal/mail/otp/text"
)

func endsWithColon(l string) bool { return strings.HasSuffix(l, ":") || strings.HasSuffix(l, "：") }

// startsWithDash reports whether a line may be a separator with text in it: "-----Original
// Message-----".
func startsWithDash(l string) bool {
	return len(l) > 6 && (l[0] == '-' || strings.HasPrefix(l, "–") || strings.HasPrefix(l, "—"))
}

// fold returns a line folded in the way of words.tsv. The result is valid until the next call.
func (f *finder) fold(l string) []byte {
	f.folded = text.Folded{Lower: f.folded.Lower[:0], Plain: f.folded.Plain[:0]}
	f.folded.Fold(l[:min(len(l), 2*maxMarked)])
	return f.folded.Lower
}

// judgeRule returns the verdict on a line that begins with a dash.
func (f *finder) judgeRule(r *reading) verdict {
	l := f.fold(r.line)
	switch {
	case hasAny(l, "forwarded"):
		f.forward = true
	case f.forward:
	case hasAny(l, "original"):
		return rest
	// "---- On Thu, 26 Nov 2026 10:00:00 +0100 Shop <a@shop.example> wrote ----"
	case bytes.HasSuffix(l, []byte("--")):
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

// evidence is what a line has in common with an attribution line.
type evidence struct {
	address  bool // an e-mail address
	enclosed bool // ... in brackets, behind a name
	before   int  // words before the address
	behind   int  // words behind the address
	numbers  int  // numbers outside of the address
	digits   int  // digits outside of the address
}

// dated reports whether the numbers can be a date.
func (e *evidence) dated() bool { return e.numbers >= 2 && e.digits >= 4 }

// timed reports whether the numbers can be a date with its time.
func (e *evidence) timed() bool { return e.numbers >= 4 && e.digits >= 6 }

// near reports whether the line has an enclosed address and at most maxNear words on each side of
// it.
func (e *evidence) near() bool { return e.enclosed && e.before <= maxNear && e.behind <= maxNear }

// maxNear is the largest number of words of the name of a sender, and of a verb such as "wrote"
// with its words.
const maxNear = 5

// examine returns the evidence in a folded line.

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

// attributes reports whether a line that ends with a colon is an attribution line: "On 2 Mar 2026,
// Ann wrote:", "26.11.2026, 10:00, "Shop" <a@shop.example>:". It also tries the line together with
// the line above, since e-mail clients wrap attribution lines. An attribution in an unknown
// language needs a date and an address behind a name, or in a reply one of the two.
func (f *finder) attributes(r *reading) bool {
	if f.attributesAs(r, r.line) {
		return true
	}
	goesOn := r.above != "" && strings.IndexByte(".!?:", r.above[len(r.above)-1]) < 0
	goesOn = goesOn && (r.adjacent || hasAny(f.fold(r.line), "wrote"))
	return goesOn && len(strings.Fields(r.line)) <= maxNear && !f.announces(r.line) && f.attributesAs(r, r.above+" "+r.line)
}

// attributesAs is attributes for one line, which may be joined from two.
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

// announces reports whether a line announces a code, or is about signing in.
func (f *finder) announces(line string) bool {
	f.page.Read(line)
	f.page.Split()
	return f.page.Seen&text.Announcing != 0
}
