package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// digitGroups summarizes the runs of digits of a number, which may span several tokens.
type digitGroups struct {
	n, totalDigits int // number of groups, and of digits in all of them
	groupSize      int // digits of each group, 0 if the groups differ
	oddGroups      int // number of groups that do not have two to four digits
	first, last    int // digits of the first and of the last group
}

// addGroups adds the runs of digits in a token, which separator joins.
func (g *digitGroups) addGroups(written []byte, separator string) {
	for run := range bytes.SplitSeq(written, []byte(separator)) {
		if g.n > 0 && g.groupSize != len(run) {
			g.groupSize = 0
		} else {
			g.groupSize = len(run)
		}
		if g.n == 0 {
			g.first = len(run)
		}
		g.last = len(run)
		g.oddGroups += boolToInt(!text.InRange(len(run), 2, 4))
		g.n++
		g.totalDigits += len(run)
	}
}

// areEven reports whether the groups are equally long and of a length that codes have: 482 913,
// 48-29-13, 4829 1300.
func (g *digitGroups) areEven() bool {
	switch {
	case g.n == 1:
		return text.InRange(g.totalDigits, minCode, maxCode)
	case g.groupSize == 1:
		return text.InRange(g.n, minCode, maxCode)
	}
	return text.InRange(g.groupSize, 2, 5) && text.InRange(g.totalDigits, 6, maxCode)
}

// areUneven reports whether the groups differ as in some codes: 48 291, 825 44 71, 4829 1377 5. A
// group of one digit is the first or the last of at least three. Telephone numbers look the same, so
// this is a feature of the candidate.
func (g *digitGroups) areUneven() bool {
	odd := g.oddGroups == 0 || g.oddGroups == 1 && min(g.first, g.last) == 1 && g.n > 2
	return odd && g.groupSize == 0 && text.InRange(g.totalDigits, 5, maxCode-1)
}

// mostDigits is the number of digits after which no further group is read.
const mostDigits = 24

// readNumber reads digits, with or without groups, from token k on. It skips all groups of a telephone
// or card number.
func (p *sourcePage) readNumber(ln *text.TokenLine, k int32) (c candidate, next int32) {
	var g digitGroups
	g.addGroups(p.RawToken(k), "-")
	all, last := g, k
	for i := p.nextGroup(ln, k); i > 0 && all.totalDigits <= mostDigits; i = p.nextGroup(ln, i) {
		all.addGroups(p.RawToken(i), "-")
		last = i
	}
	switch {
	case p.isIssueKey(ln, k):
	case all.areEven(), all.n == 2 && all.totalDigits == 7 && p.TokenLength(k) == 3: // "555 0142": a local telephone number, or a code
		c = p.newCandidate(formDigits, k, last)
	case all.areUneven():
		c = p.newCandidate(formDigits, k, last)
		c.hasUnevenGroups = true
	case g.areEven() && (g.n == 1 && g.totalDigits > minCode || all.totalDigits < 9):
		return p.newCandidate(formDigits, k, k), k + 1 // a complete code, and another number behind it
	case all.totalDigits < 9:
		return c, k + 1
	}
	return c, last + 1
}

// nextGroup returns the token behind token i that may be the next group of the same number, or 0.
// The group follows one space, a hyphen between spaces, or, for two halves of three digits, it is
// alone in the next cell of a table.
func (p *sourcePage) nextGroup(ln *text.TokenLine, i int32) int32 {
	j := i + 1
	if p.TokenLength(i) == 3 && ln.EndToken-ln.FirstToken == 1 && int(j) < len(p.Tokens) && p.endsLine(j) && p.TokenLength(j) == 3 && p.Tokens[j].Kind == text.KindNumber {
		return j
	}
	if j < ln.EndToken && p.Lower[p.Tokens[j].Start] == '-' && p.Tokens[j].GapBefore {
		j++
	}
	if j >= ln.EndToken || p.Tokens[j].Kind != text.KindNumber || !p.Tokens[j].GapBefore || p.Tokens[j].WideGapBefore {
		return 0
	}
	if j+1 < ln.EndToken && text.InRange(p.Tokens[j+1].Class, text.ClassMoney, text.ClassTimeUnit) {
		return 0 // "482 913 10 minutes"
	}
	return j
}

// isIssueKey reports whether the number at k belongs to the key of an issue tracker: "SEC-4829". A
// label before the hyphen makes it a code: "OTP-4829".
func (p *sourcePage) isIssueKey(ln *text.TokenLine, k int32) bool {
	return k >= ln.FirstToken+2 && p.Lower[p.Tokens[k-1].Start] == '-' && p.isContiguous(k-1, k) && p.TokenLength(k-2) > 1 && p.isUpperWord(k-2)
}

// readDotted reads a number whose groups are joined by points: 482.913, 48.29.13, 4.8.2.9.1.3. Amounts
// and dates look the same, so this is a feature of the candidate.
func (p *sourcePage) readDotted(k int32) (c candidate) {
	written := p.RawToken(k)
	if len(written) > 2*maxCode || len(bytes.Trim(written, "0123456789.")) > 0 {
		return c
	}
	var g digitGroups
	g.addGroups(written, ".")
	if !g.areEven() || g.groupSize == 1 && g.n < 5 { // "4.8.2.9" is an address or a version
		return c
	}
	c = p.newCandidate(formDigits, k, k)
	c.isSplit, c.isDotted = true, true
	return c
}

// looksLikeDate reports whether a code of three pairs of digits can be a date: 14-05-26, 26.05.14.
func looksLikeDate(c *candidate) bool {
	if c.form != formDigits || !c.isSplit || c.n != 6 {
		return false
	}
	pair := func(i int) int { return int(c.codeBytes[i]-'0')*10 + int(c.codeBytes[i+1]-'0') }
	day := func(n int) bool { return text.InRange(n, 1, 31) }
	a, b, z := pair(0), pair(2), pair(4)
	return day(a) && text.InRange(b, 1, 12) || text.InRange(a, 1, 12) && day(b) || text.InRange(b, 1, 12) && day(z)
}
