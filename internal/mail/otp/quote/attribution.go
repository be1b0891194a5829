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

// foldLine returns a line folded in the way of words.tsv. The result is valid until the next call.
func (f *finder) foldLine(l string) []byte {
	f.folded = text.Folded{Lower: f.folded.Lower[:0], Plain: f.folded.Plain[:0]}
	f.folded.Fold(l[:min(len(l), 2*maxMarked)])
	return f.folded.Lower
}

// judgeRule returns the verdict on a line that begins with a dash.
func (f *finder) judgeRule(r *lineCursor) lineAuthor {
	l := f.foldLine(r.line)
	switch {
	case hasAny(l, "forwarded"):
		f.isForward = true
	case f.isForward:
	case hasAny(l, "original"):
		return quotedRest
	// "---- On Thu, 26 Nov 2026 10:00:00 +0100 Shop <a@shop.example> wrote ----"
	case bytes.HasSuffix(l, []byte("--")):
		if e := examineLine(l); e.isEnclosed && e.hasDate() {
			return r.authorAfter()
		}
		next := *r
		if name, _ := nameAndValue(next.followingLine()); f.isReply && r.hasOwnLine && name != "" && f.fieldNamed(name) != 0 {
			return quotedRest
		}
	case endsWithColon(r.line) && f.isAttribution(r):
		return r.authorAfter()
	}
	return ownLine
}

// attributionEvidence is what a line has in common with an attribution line.
type attributionEvidence struct {
	hasAddress  bool // an e-mail address
	isEnclosed  bool // ... in brackets, behind a name
	wordsBefore int  // words before the address
	wordsAfter  int  // words behind the address
	numberCount int  // numbers outside of the address
	digitCount  int  // digits outside of the address
}

// hasDate reports whether the numbers can be a date.
func (e *attributionEvidence) hasDate() bool { return e.numberCount >= 2 && e.digitCount >= 4 }

// hasDateTime reports whether the numbers can be a date with its time.
func (e *attributionEvidence) hasDateTime() bool { return e.numberCount >= 4 && e.digitCount >= 6 }

// isNear reports whether the line has an enclosed address and at most maxNear words on each side of
// it.
func (e *attributionEvidence) isNear() bool {
	return e.isEnclosed && e.wordsBefore <= maxNear && e.wordsAfter <= maxNear
}

// maxNear is the largest number of words of the name of a sender, and of a verb such as "wrote"
// with its words.
const maxNear = 5

// examine returns the evidence in a folded line.

func examineLine(l []byte) (e attributionEvidence) {
	before, behind := l, []byte(nil)
	if at := bytes.IndexByte(l, '@'); at > 0 && at+1 < len(l) && text.IsAlnum(l[at+1]) {
		start, end := at, at
		for start > 0 && inAddress(l[start-1]) {
			start--
		}
		for end < len(l) && inAddress(l[end]) {
			end++
		}
		e.hasAddress = start < at
		before, behind = l[:start], l[end:]
		e.isEnclosed = e.hasAddress && start > 0 && (bytes.IndexByte([]byte("<(["), l[start-1]) >= 0 || bytes.HasSuffix(before, []byte("mailto:")))
		e.wordsBefore, e.wordsAfter = len(bytes.Fields(before)), len(bytes.Fields(bytes.TrimLeft(behind, ">)] ,:")))
	}
	for _, part := range [2][]byte{before, behind} {
		for i, c := range part {
			if !text.IsDigit(c) {
				continue
			}
			e.digitCount++
			if i == 0 || !text.IsDigit(part[i-1]) {
				e.numberCount++
			}
		}
	}
	return e
}

func inAddress(c byte) bool {
	return text.IsAlnum(c) || c >= 0x80 || bytes.IndexByte([]byte("@.-_+='%"), c) >= 0
}

// isAttribution reports whether a line that ends with a colon is an attribution line: "On 2 Mar 2026,
// Ann wrote:", "26.11.2026, 10:00, "Shop" <a@shop.example>:". It also tries the line together with
// the line above, since e-mail clients wrap attribution lines. An attribution in an unknown
// language needs a date and an address behind a name, or in a reply one of the two.
func (f *finder) isAttribution(r *lineCursor) bool {
	if f.attributesAs(r, r.line) {
		return true
	}
	goesOn := r.lineAbove != "" && strings.IndexByte(".!?:", r.lineAbove[len(r.lineAbove)-1]) < 0
	goesOn = goesOn && (r.isAdjacent || hasAny(f.foldLine(r.line), "wrote"))
	return goesOn && len(strings.Fields(r.line)) <= maxNear && !f.announcesCode(r.line) && f.attributesAs(r, r.lineAbove+" "+r.line)
}

// attributesAs is attributes for one line, which may be joined from two.
func (f *finder) attributesAs(r *lineCursor, line string) bool {
	if len(line) > 2*maxMarked {
		return false
	}
	l := f.foldLine(line)
	e := examineLine(l)
	switch {
	case (e.hasAddress || e.digitCount >= 3) && hasAny(l, "wrote"):
		return true
	case e.isEnclosed && e.hasDate():
		return e.hasDateTime() && e.wordsAfter <= 2 || !f.announcesCode(line)
	case f.isReply && r.hasOwnLine && (e.isNear() || e.hasDateTime()):
		return !f.announcesCode(line)
	}
	return false
}

// announcesCode reports whether a line announces a code, or is about signing in.
func (f *finder) announcesCode(line string) bool {
	f.page.ReadText(line)
	f.page.SplitTokens()
	return f.page.SeenClasses&text.AnnouncingClasses != 0
}
