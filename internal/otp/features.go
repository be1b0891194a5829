package otp

import (
	_ "embed"
	"slices"

	"inboxd/internal/otp/concept"
	"inboxd/internal/otp/model"
	"inboxd/internal/otp/text"
)

//go:embed weights.txt
var weightsFile string

// codes weighs the candidates of a mail.
var codes = model.New(base, crosses, weightsFile)

// base is all that is known of a candidate. A word for code, a label, has a strength: see compose.go.
var base = func() []feature {
	all := []feature{
		of("bias", "Every candidate.", []string{"", "yes"}, func(*view) int { return 1 }),
		of("form", "Of what a candidate is made, and how long it is.", formNames, func(v *view) int {
			return 1 + int(v.c.form)*7 + max(0, model.Step(int(v.c.n), 4, 5, 6, 7, 8, 9))
		}),
		of("kind", "Of what it is made, roughly.", []string{"", "digits4", "digits6", "digits8", "digits", "mixed", "letters"}, func(v *view) int {
			if v.c.form == formDigits {
				return 1 + model.Step(int(v.c.n), 4, 6, 8)
			}
			return 5 + bit(v.c.form != formMixed)
		}),
		model.Yes("own", "It stands alone on its line.", func(v *view) bool { return v.c.own }),
		model.Yes("split", "It is written in groups.", func(v *view) bool { return v.c.split }),
		model.Yes("listed", "It is one of three or more of its form in a row: backup codes, or a table.", func(v *view) bool { return v.c.listed }),
		of("year", "It could be a year, 1900 to 2099, or begins or ends with one: 2026-7714.", []string{"", "yes", "part"}, func(v *view) int {
			return bit(year(v.c)) + 2*bit(withYear(v.c))
		}),
		model.Yes("date", "It could be a date.", func(v *view) bool { return date(v.c) }),
		model.Yes("zeros", "It is nothing but zeros.", func(v *view) bool { return v.c.form == formDigits && zeros(v.c) }),
		model.Yes("counting", "It counts up or down.", func(v *view) bool { return v.c.form != formChain && counting(v.c) }),
		model.Yes("round", "It ends in three zeros.", func(v *view) bool { return v.c.form == formDigits && string(v.c.text[v.c.n-3:v.c.n]) == "000" }),
		of("mix", "How its letters and digits lie.", []string{"", "word-digits", "digits-unit", "lower", "jumble", "hyphens", "plain"}, mix),
		of("source", "Where it stands.", []string{"", "subject", "text", "html", "preview", "reply"}, func(v *view) int {
			switch {
			case v.page.reply:
				return 5
			case v.hidden:
				return 4
			case v.source == SourceSubject:
				return 1
			case v.source == SourceText:
				return 2
			}
			return 3
		}),
		model.Yes("numbered", "It is the number of something: contract no. 482913.", func(v *view) bool { return v.numbered(v.ln, v.c.first) }),
		model.Yes("called", "A noun nobody knows, or an account, stands directly before it.", func(v *view) bool { return v.called(v.c) }),
		of("owned", "A noun of its sentence says whose it is: Device 482913.", owners, func(v *view) int { return v.owner(v.c) }),
		model.Yes("compared", "It is a piece of a program: code == 482913.", func(v *view) bool { return (vetoer{v.page}).compared(v.ln, v.c) }),
		model.Yes("sentto", "It is what a short message must say, or where that goes: text 4829 to 77192.", func(v *view) bool { w := vetoer{v.page}; return w.sentTo(v.ln, v.c) || w.dialled(v.ln, v.c) }),
		model.Yes("sender", "Nothing but a sender stands before it on its line: Acme: 482913.", func(v *view) bool { return v.c.first > v.ln.First && v.page.sender(v.ln, v.c.first) }),
		model.Yes("ends", "It ends its sentence.", func(v *view) bool { return v.right[0] == signEdge || v.right[0] == signPeriod }),
		model.Count("program", "How many signs its line has that programs have and letters have not.", 2, func(v *view) int { return v.program(v.ln) }),
		of("column", "A label heads its column of a table, or another one.", []string{"", "under", "beside"}, func(v *view) int { return v.column }),
		model.Yes("place", "Its line is a street address.", func(v *view) bool { return v.ln.Place }),
		model.Yes("thing", "It is the code of a thing that has a small number itself: Locker 14, code 4829.", func(v *view) bool { return (vetoer{v.page}).numberedThing(v.c) }),
		ofSign("left1", "What stands directly before it.", func(v *view) sign { return v.left[0] }),
		ofSign("left2", "What stands second before it.", func(v *view) sign { return v.left[1] }),
		ofSign("left3", "What stands third before it.", func(v *view) sign { return v.left[2] }),
		ofSign("right1", "What stands directly behind it.", func(v *view) sign { return v.right[0] }),
		ofSign("right2", "What stands second behind it.", func(v *view) sign { return v.right[1] }),
		ofSign("wordright", "The nearest telling word behind it.", func(v *view) sign { return v.wordR }),
		of("before", "The word for code before it: its strength, words between, a colon or is, the end of a sentence.", tieValues(leftDists), func(v *view) int {
			return tieValue(&v.before, len(leftDists), model.Step(v.before.dist, 0, 1, 3, 6, 12))
		}),
		of("after", "The word for code behind it, likewise.", tieValues(rightDists), func(v *view) int {
			return tieValue(&v.after, len(rightDists), model.Step(v.after.dist, 0, 2, 5, 9))
		}),
		of("above", "The word for code on a line above it: strength, lines between, colon, heading.", aboveValues(), func(v *view) int { return aboveValue(v, &v.above) }),
		of("below", "The word for code on a line below it, likewise.", aboveValues(), func(v *view) int { return aboveValue(v, &v.below) }),
		of("enter", "How many words before it somebody is told to enter something.", []string{"", "0", "1", "2-4", "far"}, func(v *view) int {
			if v.enter == 0 {
				return 0
			}
			return 1 + model.Step(v.enter-1, 0, 1, 4)
		}),
		of("entered", "How many words before or behind it somebody is told to enter something.", []string{"", "0", "1", "2-4", "far"}, func(v *view) int {
			n := v.enter
			if n == 0 || v.enterR > 0 && v.enterR < n {
				n = v.enterR
			}
			if n == 0 {
				return 0
			}
			return 1 + model.Step(n-1, 0, 1, 4)
		}),
		model.Yes("means", "It is what confirms: verify it with 482913.", (*view).means),
		of("company", "How many words its sentence has besides it.", []string{"", "0", "1-2", "3-5", "6-9", "more"}, func(v *view) int { return 1 + model.Step(v.company(v.c), 0, 2, 5, 9) }),
		of("lineup", "What the line above is.", lineNames, func(v *view) int { return int(v.lineUp) }),
		of("linedown", "What the line below is.", lineNames, func(v *view) int { return int(v.lineDown) }),
		model.Yes("before-other", "Something else is announced between it and the word for code before it.", func(v *view) bool { return v.before.other }),
		model.Yes("before-joined", "A colon or is stands directly before it.", func(v *view) bool { return v.before.joined }),
		model.Yes("after-other", "Something else is announced between it and the word for code behind it.", func(v *view) bool { return v.after.other }),
		of("row", "Which line of the page it stands on.", []string{"", "1", "2", "3-4", "5-8", "far"}, func(v *view) int { return 1 + model.Step(int(v.c.line), 0, 1, 3, 7) }),
		model.Count("order", "Which candidate of its page it is.", 4, func(v *view) int { return v.order }),
		ofSign("wordleft2", "The next telling word before it.", func(v *view) sign { return v.wordL2 }),
		ofSign("wordright2", "The next telling word behind it.", func(v *view) sign { return v.wordR2 }),
		of("before-class", "Which word for code stands before it.", labelNames, func(v *view) int { return min(int(v.before.class), 6) }),
		of("after-class", "Which word for code stands behind it.", labelNames, func(v *view) int { return min(int(v.after.class), 6) }),
		model.Yes("before-is", "Between it and the word for code before it stands is.", func(v *view) bool { return v.before.strength > 0 && v.before.is }),
		model.Yes("after-is", "Between it and the word for code behind it stands is.", func(v *view) bool { return v.after.strength > 0 && v.after.is }),
		// the mail
		model.Count("m-stale", "Words for what is over: expired, used, old.", 2, func(v *view) int { return v.ctx.words[text.ClassStale] }),
		model.Count("m-example", "Words that give an example.", 2, func(v *view) int { return v.ctx.words[text.ClassExample] }),
		model.Yes("s-other", "The subject names a thing whose number is no code.", func(v *view) bool {
			return seen(v.ctx.subjectSeen, text.ClassOther, text.ClassParcel, text.ClassBooking, text.ClassMeeting)
		}),
		model.Yes("s-verify", "The subject speaks of signing in.", func(v *view) bool { return seen(v.ctx.subjectSeen, text.ClassVerify) }),
		model.Yes("s-paper", "The subject names a certificate.", func(v *view) bool { return seen(v.ctx.subjectSeen, text.ClassPaper) }),
		model.Yes("s-enter", "The subject asks to enter something.", func(v *view) bool { return seen(v.ctx.subjectSeen, text.ClassEnter) }),
		model.Count("m-strength", "The strongest word for code in the mail.", 3, func(v *view) int { return int(v.ctx.strength) }),
		model.Count("m-subject", "The strongest word for code in the subject.", 3, func(v *view) int { return int(v.ctx.subject) }),
		model.Yes("m-subjectverify", "The subject speaks of confirming.", func(v *view) bool { return v.ctx.subjectVerify }),
		model.Yes("m-expiry", "Something is valid for minutes.", func(v *view) bool { return v.ctx.expiry }),
		model.Count("m-verify", "How often the mail speaks of verifying or signing in.", 3, func(v *view) int { return v.ctx.verify() }),
		model.Count("m-entering", "How often somebody is told to enter a code.", 2, func(v *view) int { return v.ctx.entering }),
		model.Count("m-approvals", "How often it speaks of authorization codes.", 2, func(v *view) int { return v.ctx.words[text.ClassApproval] }),
		model.Count("m-terminal", "How often of those that a card terminal may give.", 2, func(v *view) int { return v.ctx.terminal }),
		model.Count("m-others", "How often of codes of other trades.", 3, func(v *view) int { return v.ctx.others }),
		model.Count("m-goods", "How often of other things that have numbers.", 4, func(v *view) int { return v.ctx.words[text.ClassOther] }),
		model.Count("m-parcel", "How often of parcels.", 2, func(v *view) int { return v.ctx.words[text.ClassParcel] }),
		model.Count("m-promo", "How often of discounts.", 2, func(v *view) int { return v.ctx.words[text.ClassPromo] }),
		model.Count("m-booking", "How often of bookings.", 2, func(v *view) int { return v.ctx.words[text.ClassBooking] }),
		model.Count("m-meeting", "How often of meetings.", 2, func(v *view) int { return v.ctx.words[text.ClassMeeting] }),
		model.Count("m-papers", "How often of certificates.", 2, func(v *view) int { return v.ctx.words[text.ClassPaper] }),
		model.Count("m-money", "How often of amounts.", 2, func(v *view) int { return v.ctx.words[text.ClassMoney] }),
		of("near", "The strongest word for code beside it.", append([]string{""}, strengths...), func(v *view) int { return 1 + v.near() }),
		of("nearform", "Digits or not, and the strongest word for code beside it.", []string{"", "digits", "digits-weak", "digits-medium", "digits-strong", "other", "other-weak", "other-medium", "other-strong"}, func(v *view) int {
			return 1 + v.near() + 4*bit(v.c.form != formDigits)
		}),
	}
	for i, name := range concept.Names {
		all = append(all,
			model.Yes("subject-"+name, "The subject asks for it or speaks of it.", func(v *view) bool { return v.ctx.topic.Has(1 << i) }),
			model.Yes("line-"+name, "Its line does, or the one above.", func(v *view) bool { return v.topic.Has(1 << i) }))
	}
	for _, c := range seenClasses {
		name := signNames[c]
		all = append(all,
			model.Yes("sentence-left-"+name, "A word of this kind stands before it in its sentence.", func(v *view) bool { return seen(v.seenL, c) }),
			model.Yes("sentence-right-"+name, "A word of this kind stands behind it in its sentence.", func(v *view) bool { return seen(v.seenR, c) }))
	}
	return all
}()

// crosses are pairs of features that say more together: what a candidate is made of, how long its sentence is,
// whether it is to be entered and how plainly the mail speaks of a code with everything, and those that follow.
var crosses = append(broad("kind", "company", "entered", "m-strength"), [][2]string{
	{"near", "m-subject"},
	{"near", "m-entering"},
	{"near", "m-others"},
	{"near", "m-parcel"},
	{"near", "m-promo"},
	{"near", "m-booking"},
	{"near", "m-meeting"},
	{"near", "m-papers"},
	{"near", "linedown"},
	{"near", "counting"},
	{"near", "right1"},
	{"near", "before-joined"},
	{"near", "thing"},
	{"near", "column"},
	{"near", "program"},
	{"before-joined", "program"},
	{"near", "m-stale"},
	{"near", "m-example"},
	{"near", "s-other"},
	{"near", "s-verify"},
	{"near", "s-paper"},
	{"near", "wordright2"},
	{"near", "sentence-left-other"},
	{"near", "sentence-right-confirm"},
	{"own", "lineup"},
	{"own", "linedown"},
	{"own", "m-subject"},
	{"own", "row"},
	{"enter", "m-subjectverify"},
	{"sender", "m-expiry"},
	{"sender", "row"},
	{"before-class", "m-goods"},
	{"before-class", "m-expiry"},
	{"before", "m-subjectverify"},
	{"m-approvals", "m-goods"},
	{"m-terminal", "m-money"},
	{"m-stale", "before-joined"},
	{"before", "owned"},
	{"after", "called"},
	{"m-verify", "m-goods"},
}...)

// broad pairs features with all others.
func broad(names ...string) (pairs [][2]string) {
	for i, name := range names {
		for _, f := range base[1:] {
			if f.Name != "form" && !slices.Contains(names[:i+1], f.Name) {
				pairs = append(pairs, [2]string{name, f.Name})
			}
		}
	}
	return pairs
}
