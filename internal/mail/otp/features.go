package otp

import (
	"bytes"
	_ "embed"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/model"
	"inboxd/internal/mail/otp/text"
)

//go:embed weights.txt
var weightsFile string

// codes is the model that scores the candidates of a message.
var codes = model.New(base, bags, weightsFile)

// base are the features of a candidate; each has one value. A label is a word for "code";
// compose.go gives it its strength. The names and the order of the values are those of weights.txt.
var base = func() []feature {
	return []feature{
		of("bias", "Every candidate.", []string{"", "yes"}, func(*view) int { return 1 }),
		model.Grid("form", "Of what a candidate is made, and how long it is.",
			of("", "", []string{"none", "digits", "mixed", "letters", "chain"}, func(v *view) int { return 1 + int(v.c.form) }),
			of("", "", []string{"4", "5", "6", "7", "8", "9", "more"}, func(v *view) int { return model.Step(int(v.c.n), 4, 5, 6, 7, 8, 9) })),
		of("kind", "Of what it is made, roughly.", []string{"", "digits4", "digits6", "digits8", "digits", "mixed", "letters"}, func(v *view) int {
			if v.c.form == formDigits {
				return 1 + model.Step(int(v.c.n), 4, 6, 8)
			}
			return 5 + bit(v.c.form != formMixed)
		}),
		model.Yes("own", "It stands alone on its line.", func(v *view) bool { return v.c.own }),
		of("split", "It is written in groups, of one length or of several.", []string{"", "yes", "uneven"}, func(v *view) int { return bit(v.c.split) + bit(v.c.uneven) }),
		of("year", "It could be a year, 1900 to 2099, or begins or ends with one: 2026-7714.", []string{"", "yes", "part"}, func(v *view) int { return years(v.c) }),
		model.Yes("counting", "It counts up or down.", func(v *view) bool { return counting(v.c) }),
		model.Yes("round", "It ends in three zeros.", func(v *view) bool { return v.c.form == formDigits && bytes.HasSuffix(v.c.text[:v.c.n], []byte("000")) }),
		model.Yes("compared", "It is a piece of a program: code == 482913.", (*view).compared),
		model.Yes("place", "Its line is a street address.", func(v *view) bool { return v.ln.Place }),
		model.Yes("thing", "It is the code of a thing that has a small number itself: Locker 14, code 4829.", func(v *view) bool { return v.numberedThing(v.c) }),
		ofSign("left1", "What stands directly before it.", func(v *view) sign { return v.left[0] }),
		ofSign("left2", "What stands second before it.", func(v *view) sign { return v.left[1] }),
		ofSign("right1", "What stands directly behind it.", func(v *view) sign { return v.right }),
		tied("before", "The word for code before it: its strength, words between, a colon or is, the end of a sentence.", func(v *view) *tie { return &v.before.tie },
			[]string{"0", "1", "2-3", "4-6", "7-12", "far"}, []int{0, 1, 3, 6, 12}, of("", "", []string{"", "crossed"}, func(v *view) int { return bit(v.before.crossed) })),
		tied("after", "The word for code behind it, likewise.", func(v *view) *tie { return &v.after.tie },
			[]string{"0", "1-2", "3-5", "6-9", "far"}, []int{0, 2, 5, 9}, of("", "", []string{"", "crossed"}, func(v *view) int { return bit(v.after.crossed) })),
		tied("above", "The word for code on a line above it: strength, lines between, a colon, a heading; or of several, or of another number between.", func(v *view) *tie { return &v.above },
			[]string{"1", "2", "3", "far"}, []int{1, 2, 3}, of("", "", []string{"", "heading"}, func(v *view) int { return bit(v.above.heading) }), of("", "", []string{"", "own"}, func(v *view) int { return bit(v.c.own) })),
		of("said", "How plainly it is said to be a code.", plainly, (*view).said),
		model.Yes("column", "It stands in a row of a table below a word for code.", (*view).column),
		of("quoted", "It stands between quotation marks, alone or with words that somebody says.", []string{"", "alone", "speech"}, (*view).quoted),
		model.Count("alike", "How many other candidates of its page look the same.", 3, func(v *view) int { return v.alike }),
		of("again", "It stands in the mail again, or in the subject.", []string{"", "mail", "subject"}, func(v *view) int { return v.again }),
		of("company", "How many words its sentence has besides it.", []string{"", "0", "1-2", "3-5", "6-9", "more"}, func(v *view) int { return 1 + model.Step(v.company(v.c), 0, 2, 5, 9) }),
		model.Yes("before-joined", "A colon or is stands directly before it.", func(v *view) bool { return v.before.joined }),
		of("row", "Which line of the page it stands on.", []string{"", "1", "2", "3-4", "5-8", "far"}, func(v *view) int { return 1 + model.Step(int(v.c.line), 0, 1, 3, 7) }),
		model.Count("order", "Which candidate of its page it is.", 4, func(v *view) int { return v.order }),
		ofSign("wordleft2", "The next telling word before it.", func(v *view) sign { return v.before.words[1] }),
		ofSign("wordright2", "The next telling word behind it.", func(v *view) sign { return v.after.words[1] }),
		of("before-class", "Which word for code stands before it.", []string{"", "code", "password", "passcode", "otp", "approval", "other"}, func(v *view) int { return min(int(v.before.class), 6) }),
		of("after-class", "Which word for code stands behind it.", []string{"", "code", "password", "passcode", "otp", "approval", "other"}, func(v *view) int { return min(int(v.after.class), 6) }),
		model.Yes("before-is", "Between it and the word for code before it stands is.", func(v *view) bool { return v.before.strength > 0 && v.before.is }),
		model.Yes("after-other", "Something else is announced between it and the word for code behind it.", func(v *view) bool { return v.after.other }),
		// Features of the whole message.
		model.Yes("s-other", "The subject names a thing whose number is no code.", func(v *view) bool {
			return v.ctx.subjectSeen.has(text.ClassOther, text.ClassParcel, text.ClassBooking, text.ClassMeeting)
		}),
		model.Yes("s-verify", "The subject speaks of confirming or signing in.", func(v *view) bool { return v.ctx.subjectSeen.has(text.ClassVerify, text.ClassConfirm, text.ClassOnce) }),
		model.Count("m-stale", "Words for what is over: expired, used, old.", 2, func(v *view) int { return v.ctx.words[text.ClassStale] }),
		model.Count("m-example", "Words that give an example.", 2, func(v *view) int { return v.ctx.words[text.ClassExample] }),
		model.Count("m-strength", "The strongest word for code in the mail.", 3, func(v *view) int { return int(v.ctx.strength) }),
		model.Count("m-subject", "The strongest word for code in the subject.", 3, func(v *view) int { return int(v.ctx.subject) }),
		model.Yes("m-expiry", "Something is valid for minutes.", func(v *view) bool { return v.ctx.expiry }),
		model.Count("m-verify", "How often the mail speaks of verifying or signing in.", 3, func(v *view) int { return v.ctx.verify() }),
		model.Count("m-entering", "How often somebody is told to enter a code.", 2, func(v *view) int { return v.ctx.entering }),
		model.Count("m-approvals", "How often it speaks of authorization codes.", 2, func(v *view) int { return v.ctx.words[text.ClassApproval] }),
		model.Count("m-others", "How often of codes of other trades.", 3, func(v *view) int { return v.ctx.others }),
		model.Count("m-goods", "How often of other things that have numbers.", 4, func(v *view) int { return v.ctx.words[text.ClassOther] }),
		model.Count("m-parcel", "How often of parcels.", 2, func(v *view) int { return v.ctx.words[text.ClassParcel] }),
		model.Count("m-promo", "How often of discounts.", 2, func(v *view) int { return v.ctx.words[text.ClassPromo] }),
		model.Count("m-booking", "How often of bookings.", 2, func(v *view) int { return v.ctx.words[text.ClassBooking] }),
		model.Count("m-meeting", "How often of meetings.", 2, func(v *view) int { return v.ctx.words[text.ClassMeeting] }),
		model.Count("m-papers", "How often of certificates.", 2, func(v *view) int { return v.ctx.words[text.ClassPaper] }),
		model.Count("m-money", "How often of amounts.", 2, func(v *view) int { return v.ctx.words[text.ClassMoney] }),
	}
}()

// bags are the bag features of a candidate: the signs and concepts around it, without their order.
var bags = []model.Bag[view]{
	bagOf("left", "Stands before it in its sentence.", func(v *view) bag { return v.seenL }),
	bagOf("right", "Stands behind it in its sentence.", func(v *view) bag { return v.seenR }),
	bagOf("up", "Stands on the line above.", func(v *view) bag { return v.bagOf(v.c.line - 1) }),
	bagOf("up2", "Stands on the second line above.", func(v *view) bag { return v.bagOf(v.c.line - 2) }),
	bagOf("down", "Stands on the line below.", func(v *view) bag { return v.bagOf(v.lineOf(v.c.last, v.c.line) + 1) }),
	bagOf("mail", "Stands in the mail.", func(v *view) bag { return v.ctx.seen }),
	bagOf("subject", "Stands in the subject.", func(v *view) bag { return v.ctx.subjectSeen }),
	{Name: "look", Says: "It looks so itself.", Values: looks, Of: func(v *view) uint64 { return look(v.c) }},
	{Name: "asks", Says: "Its line, or the one above, asks for it or speaks of it.", Values: concept.Names, Of: func(v *view) uint64 { return uint64(v.topic) }},
	{Name: "topic", Says: "The subject does.", Values: concept.Names, Of: func(v *view) uint64 { return uint64(v.ctx.topic) }},
}

// plainly are the values of the feature said: how clearly the message announces the candidate as a
// code.
var plainly = []string{"", "weak", "strong", "weak-above", "strong-above", "below", "asked", "entered", "far"}

// said returns the index in plainly of the first case that holds: a label next to the candidate, a
// label on the line above or below it, a verb such as "enter" near it, or a label farther away.
func (v *view) said() int {
	const weakly, strongly, above, under, asked, entered, far = 1, 2, 3, 5, 6, 7, 8
	near := func(t *tie) bool { return t.named() && !t.crossed && (t.joined || t.dist <= 2) }
	b, a, up, down := &v.before.tie, &v.after.tie, v.c.line-1, v.lineOf(v.c.last, v.c.line)+1
	switch {
	case near(b) && b.strength > weak, near(a) && a.strength > weak:
		return strongly
	case near(b), near(a):
		return weakly
	case v.c.own && v.above.named() && v.above.dist == 1:
		return above + bit(v.above.strength > weak)
	case v.c.own && int(down) < len(v.Lines) && v.Lines[down].Strength > 0:
		return under
	case v.c.own && (v.bagOf(up) | v.bagOf(down)).has(text.ClassEnter):
		return asked
	case text.Between(v.before.enter, 1, 3), text.Between(v.after.enter, 1, 3):
		return entered
	}
	return far * bit(b.strength+a.strength+v.above.strength > 0)
}

// named reports whether the tie has a label of exactly one code, with no other number between.
func (t *tie) named() bool { return text.Between(t.strength, weak, strong) }
