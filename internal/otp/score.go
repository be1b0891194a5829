package otp

// Scores. A candidate is the code when it reaches threshold; what counts most is how it
// is tied to a word for "code", so no candidate gets there by its looks alone.
const (
	threshold = 40

	labelStrong = 60 // directly behind "verification code"
	labelMedium = 55
	labelWeak   = 46
	labelIs     = 12 // ... joined by a colon or "is"
	enterLabel  = 6  // ... and "enter the code" before it
	inverseIs   = 6  // "482913 is your code"
	stepStrong  = 3  // for each word between
	stepWeak    = 6

	aboveNear = 48 // alone on its line, the label on the line above
	aboveStep = 12 // for each line more
	belowNear = 36 // the label on the line below
	headOf    = 38 // first on its line, the label at the end of the line above

	enterVerb   = 30 // "enter 482913 to sign in"
	ledBySender = 36 // "Acme: 482913. This code ..."
	loneInMail  = 32 // alone on a line, in a mail that speaks of a code somewhere above
	ownLine     = 8
	sixDigits   = 8
	usualDigits = 4 // 5, 7 or 8
	longDigits  = -6
	splitBonus  = 3
	repeated    = 10
	mailSpeaks  = 8 // the mail has a strong label somewhere
	subjectSays = 8 // ... and the subject has a label
	staleWord   = -30
	otherInLine = -16
	otherDirect = 4 // ... and yet the label stands directly before the code

	sentence  = 4  // the end of a sentence, in words
	reach     = 12 // words between label and code
	reachBack = 9  // from a code to the label behind it
	reachOpen = 14 // ... that opens its sentence
	fullLine  = 24 // bytes; a shorter line was not broken by its length
	reachIs   = 26 // the same when a colon or "is" stands before the code
	aboveMost = 3  // lines
	loneMost  = 8
)

// rate gives c its score, or nothing when it is vetoed.
func (p *page) rate(c *candidate, ctx *context) {
	r := p.relate(c, ctx)
	c.relation = r
	if r.veto || r.score <= 0 || (vetoer{p}).vetoed(c, ctx) {
		c.score = 0
		return
	}
	c.score = r.score + looks(c)
	if c.own {
		c.score += ownLine
	}
	if ctx.subject > 0 && (r.joined && !r.behind || c.own && r.strength >= medium && ctx.subject >= medium) && p.source != SourceSubject {
		c.score += subjectSays
	}
	if ctx.strength == strong {
		c.score += mailSpeaks
	}
	if c.score >= threshold && r.at >= 0 {
		p.Lines[r.at].Claimed = true
	}
}

// looks gives the part of the score that the form of a code earns.
func looks(c *candidate) (score int) {
	switch {
	case c.form != formDigits:
		score = -4
	case c.n == 6:
		score = sixDigits
	case c.n == 5 || c.n == 7 || c.n == 8:
		score = usualDigits
	case c.n > 8:
		score = longDigits
	}
	if c.split {
		score += splitBonus
	}
	return score
}
