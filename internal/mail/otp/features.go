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

// codeModel is the model that scores the candidates of a message.
var codeModel = model.New(baseFeatures, bagFeatures, weightsFile)

// baseFeatures are the features of a candidate; each has one value. A label is a word for "code";
// compose.go gives it its strength. The names and the order of the values are those of weights.txt.
var baseFeatures = func() []feature {
	return []feature{
		of("bias", "Every candidate.", []string{"", "yes"}, func(*candidateView) int { return 1 }),
		model.CrossProduct("form", "Of what a candidate is made, and how long it is.",
			of("", "", []string{"none", "digits", "mixed", "letters", "chain"}, func(v *candidateView) int { return 1 + int(v.c.form) }),
			of("", "", []string{"4", "5", "6", "7", "8", "9", "more"}, func(v *candidateView) int { return model.BucketIndex(int(v.c.n), 4, 5, 6, 7, 8, 9) })),
		of("kind", "Of what it is made, roughly.", []string{"", "digits4", "digits6", "digits8", "digits", "mixed", "letters"}, func(v *candidateView) int {
			if v.c.form == formDigits {
				return 1 + model.BucketIndex(int(v.c.n), 4, 6, 8)
			}
			return 5 + boolToInt(v.c.form != formMixed)
		}),
		model.BooleanFeature("own", "It stands alone on its line.", func(v *candidateView) bool { return v.c.isAlone }),
		of("split", "It is written in groups, of one length or of several, or with points between.", []string{"", "yes", "uneven", "points"}, func(v *candidateView) int {
			return boolToInt(v.c.isSplit) + boolToInt(v.c.hasUnevenGroups) + 2*boolToInt(v.c.isDotted)
		}),
		model.BooleanFeature("date", "It could be a date: 14-05-26.", func(v *candidateView) bool { return looksLikeDate(v.c) }),
		of("linked", "It stands in a link of the mail, also as the value of a parameter.", []string{"", "part", "value"}, (*candidateView).linkIndex),
		of("year", "It could be a year, 1900 to 2099, or begins or ends with one: 2026-7714.", []string{"", "yes", "part"}, func(v *candidateView) int { return yearMatch(v.c) }),
		model.BooleanFeature("counting", "It counts up or down.", func(v *candidateView) bool { return isSequential(v.c) }),
		model.BooleanFeature("round", "It ends in three zeros.", func(v *candidateView) bool {
			return v.c.form == formDigits && bytes.HasSuffix(v.c.codeBytes[:v.c.n], []byte("000"))
		}),
		model.BooleanFeature("compared", "It is a piece of a program: code == 482913.", (*candidateView).isProgramText),
		model.BooleanFeature("place", "Its line is a street address.", func(v *candidateView) bool { return v.ln.IsAddress }),
		model.BooleanFeature("thing", "It is the code of a thing that has a small number itself: Locker 14, code 4829.", func(v *candidateView) bool { return v.numberedThing(v.c) }),
		ofSign("left1", "What stands directly before it.", func(v *candidateView) sign { return v.leftSigns[0] }),
		ofSign("left2", "What stands second before it.", func(v *candidateView) sign { return v.leftSigns[1] }),
		ofSign("right1", "What stands directly behind it.", func(v *candidateView) sign { return v.rightSign }),
		labelFeature("before", "The word for code before it: its strength, words between, a colon or is, the end of a sentence.", func(v *candidateView) *nearbyLabel { return &v.sideBefore.nearbyLabel },
			[]string{"0", "1", "2-3", "4-6", "7-12", "far"}, []int{0, 1, 3, 6, 12}, of("", "", []string{"", "crossed"}, func(v *candidateView) int { return boolToInt(v.sideBefore.crossesSentence) })),
		labelFeature("after", "The word for code behind it, likewise.", func(v *candidateView) *nearbyLabel { return &v.sideAfter.nearbyLabel },
			[]string{"0", "1-2", "3-5", "6-9", "far"}, []int{0, 2, 5, 9}, of("", "", []string{"", "crossed"}, func(v *candidateView) int { return boolToInt(v.sideAfter.crossesSentence) })),
		labelFeature("above", "The word for code on a line above it: strength, lines between, a colon, a heading; or of several, or of another number between.", func(v *candidateView) *nearbyLabel { return &v.labelAbove },
			[]string{"1", "2", "3", "far"}, []int{1, 2, 3}, of("", "", []string{"", "heading"}, func(v *candidateView) int { return boolToInt(v.labelAbove.isHeading) }), of("", "", []string{"", "own"}, func(v *candidateView) int { return boolToInt(v.c.isAlone) })),
		of("said", "How plainly it is said to be a code.", announcementValues, (*candidateView).announcementIndex),
		model.BooleanFeature("column", "It stands in a row of a table below a word for code.", (*candidateView).isBelowLabel),
		of("quoted", "It stands between quotation marks, alone or with words that somebody says.", []string{"", "alone", "speech"}, (*candidateView).quotationLevel),
		model.CountFeature("alike", "How many other candidates of its page look the same.", 3, func(v *candidateView) int { return v.similarCount }),
		of("again", "It stands in the mail again, or in the subject.", []string{"", "mail", "subject"}, func(v *candidateView) int { return v.repeatKind }),
		of("company", "How many words its sentence has besides it.", []string{"", "0", "1-2", "3-5", "6-9", "more"}, func(v *candidateView) int { return 1 + model.BucketIndex(v.countSentenceWords(v.c), 0, 2, 5, 9) }),
		model.BooleanFeature("before-joined", "A colon or is stands directly before it.", func(v *candidateView) bool { return v.sideBefore.isJoined }),
		of("row", "Which line of the page it stands on.", []string{"", "1", "2", "3-4", "5-8", "far"}, func(v *candidateView) int { return 1 + model.BucketIndex(int(v.c.line), 0, 1, 3, 7) }),
		model.CountFeature("order", "Which candidate of its page it is.", 4, func(v *candidateView) int { return v.candidateIndex }),
		ofSign("wordleft2", "The next telling word before it.", func(v *candidateView) sign { return v.sideBefore.nearestSigns[1] }),
		ofSign("wordright2", "The next telling word behind it.", func(v *candidateView) sign { return v.sideAfter.nearestSigns[1] }),
		of("before-class", "Which word for code stands before it.", []string{"", "code", "password", "passcode", "otp", "approval", "other"}, func(v *candidateView) int { return min(int(v.sideBefore.labelClass), 6) }),
		of("after-class", "Which word for code stands behind it.", []string{"", "code", "password", "passcode", "otp", "approval", "other"}, func(v *candidateView) int { return min(int(v.sideAfter.labelClass), 6) }),
		model.BooleanFeature("before-is", "Between it and the word for code before it stands is.", func(v *candidateView) bool { return v.sideBefore.labelStrength > 0 && v.sideBefore.is }),
		model.BooleanFeature("after-other", "Something else is announced between it and the word for code behind it.", func(v *candidateView) bool { return v.sideAfter.otherNumberWord }),
		// Features of the whole message.
		of("m-length", "How many words the mail has.", []string{"", "3", "8", "20", "50", "120", "more"}, func(v *candidateView) int { return 1 + model.BucketIndex(v.ctx.wordCount, 3, 8, 20, 50, 120) }),
		of("m-crowd", "How many candidates its page has.", []string{"", "1", "2", "3-4", "5-8", "more"}, func(v *candidateView) int { return 1 + model.BucketIndex(v.candidateCount, 1, 2, 4, 8) }),
		model.BooleanFeature("s-other", "The subject names a thing whose number is no code.", func(v *candidateView) bool {
			return v.ctx.subjectSeen.hasClass(text.ClassOther, text.ClassParcel, text.ClassBooking, text.ClassMeeting)
		}),
		model.BooleanFeature("s-verify", "The subject speaks of confirming or signing in.", func(v *candidateView) bool {
			return v.ctx.subjectSeen.hasClass(text.ClassVerify, text.ClassConfirm, text.ClassOnce)
		}),
		model.CountFeature("m-stale", "Words for what is over: expired, used, old.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassStale] }),
		model.CountFeature("m-example", "Words that give an example.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassExample] }),
		model.CountFeature("m-strength", "The strongest word for code in the mail.", 3, func(v *candidateView) int { return int(v.ctx.maxStrength) }),
		model.CountFeature("m-subject", "The strongest word for code in the subject.", 3, func(v *candidateView) int { return int(v.ctx.subjectStrength) }),
		model.BooleanFeature("m-expiry", "Something is valid for minutes.", func(v *candidateView) bool { return v.ctx.mentionsExpiry }),
		model.CountFeature("m-verify", "How often the mail speaks of verifying or signing in.", 3, func(v *candidateView) int { return v.ctx.countVerifyWords() }),
		model.CountFeature("m-entering", "How often somebody is told to enter a code.", 2, func(v *candidateView) int { return v.ctx.labelsAfterEnter }),
		model.CountFeature("m-approvals", "How often it speaks of authorization codes.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassApproval] }),
		model.CountFeature("m-others", "How often of codes of other trades.", 3, func(v *candidateView) int { return v.ctx.otherCodeWords }),
		model.CountFeature("m-goods", "How often of other things that have numbers.", 4, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassOther] }),
		model.CountFeature("m-parcel", "How often of parcels.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassParcel] }),
		model.CountFeature("m-promo", "How often of discounts.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassPromo] }),
		model.CountFeature("m-booking", "How often of bookings.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassBooking] }),
		model.CountFeature("m-meeting", "How often of meetings.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassMeeting] }),
		model.CountFeature("m-papers", "How often of certificates.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassPaper] }),
		model.CountFeature("m-money", "How often of amounts.", 2, func(v *candidateView) int { return v.ctx.wordCounts[text.ClassMoney] }),
	}
}()

// bagFeatures are the bag features of a candidate: the signs and concepts around it, without their
// order.
var bagFeatures = []model.BagFeature[candidateView]{
	bagOf("left", "Stands before it in its sentence.", func(v *candidateView) signSet { return v.seenL }),
	bagOf("right", "Stands behind it in its sentence.", func(v *candidateView) signSet { return v.seenR }),
	bagOf("up", "Stands on the line above.", func(v *candidateView) signSet { return v.bagOf(v.c.line - 1) }),
	bagOf("up2", "Stands on the second line above.", func(v *candidateView) signSet { return v.bagOf(v.c.line - 2) }),
	bagOf("down", "Stands on the line below.", func(v *candidateView) signSet { return v.bagOf(v.lineOf(v.c.last, v.c.line) + 1) }),
	bagOf("mail", "Stands in the mail.", func(v *candidateView) signSet { return v.ctx.seenSigns }),
	bagOf("subject", "Stands in the subject.", func(v *candidateView) signSet { return v.ctx.subjectSeen }),
	{Name: "look", HelpText: "It looks so itself.", Values: shapeValues, Of: func(v *candidateView) uint64 { return shapeSet(v.c) }},
	{Name: "asks", HelpText: "Its line, or the one above, asks for it or speaks of it.", Values: concept.NamesByBit, Of: func(v *candidateView) uint64 { return uint64(v.nearbyConcepts) }},
	{Name: "topic", HelpText: "The subject does.", Values: concept.NamesByBit, Of: func(v *candidateView) uint64 { return uint64(v.ctx.subjectConcepts) }},
}

// announcementValues are the values of the feature said: how clearly the message announces the
// candidate as a code.
var announcementValues = []string{"", "weak", "strong", "weak-above", "strong-above", "below", "asked", "entered", "far"}

// announcementIndex returns the index in plainly of the first case that holds: a label next to the
// candidate, a label on the line above or below it, a verb such as "enter" near it, or a label
// farther away.
func (v *candidateView) announcementIndex() int {
	const weakly, strongly, above, under, asked, entered, far = 1, 2, 3, 5, 6, 7, 8
	near := func(t *nearbyLabel) bool {
		return t.namesOneCode() && !t.crossesSentence && (t.isJoined || t.dist <= 2)
	}
	b, a, up, down := &v.sideBefore.nearbyLabel, &v.sideAfter.nearbyLabel, v.c.line-1, v.lineOf(v.c.last, v.c.line)+1
	switch {
	case near(b) && b.labelStrength > weakLabel, near(a) && a.labelStrength > weakLabel:
		return strongly
	case near(b), near(a):
		return weakly
	case v.c.isAlone && v.labelAbove.namesOneCode() && v.labelAbove.dist == 1:
		return above + boolToInt(v.labelAbove.labelStrength > weakLabel)
	case v.c.isAlone && int(down) < len(v.Lines) && v.Lines[down].LabelStrength > 0:
		return under
	case v.c.isAlone && (v.bagOf(up) | v.bagOf(down)).hasClass(text.ClassEnter):
		return asked
	case text.InRange(v.sideBefore.enterDistance, 1, 3), text.InRange(v.sideAfter.enterDistance, 1, 3):
		return entered
	}
	return far * boolToInt(b.labelStrength+a.labelStrength+v.labelAbove.labelStrength > 0)
}

// namesOneCode reports whether the tie has a label of exactly one code, with no other number between.
func (t *nearbyLabel) namesOneCode() bool {
	return text.InRange(t.labelStrength, weakLabel, strongLabel)
}
