package link

import (
	_ "embed"

	"inboxd/internal/otp/model"
)

//go:embed weights.txt
var weightsFile string

// links weighs the links of a mail.
var links = model.New(features(), crosses, weightsFile)

type feature = model.Feature[view]

func yes(name, says string, is func(*view) bool) feature {
	return feature{Name: name, Says: says, Values: []string{"", "yes"}, Of: func(v *view) int {
		if is(v) {
			return 1
		}
		return 0
	}}
}

func count(name, says string, of func(*view) int) feature {
	return feature{Name: name, Says: says, Values: []string{"0", "1", "2", "more"}, Of: func(v *view) int { return min(3, of(v)) }}
}

// leanings are what a set of concepts asks for.
var leanings = []string{"", "asks", "other", "both", "go", "done"}

func leaning(c concept) int {
	switch asks, others := c&asks != 0, c&others != 0; {
	case asks && others:
		return 3
	case others:
		return 2
	case asks:
		return 1
	case c&done != 0:
		return 5
	case c&follow != 0:
		return 4
	}
	return 0
}

func lean(name, says string, of func(*view) concept) feature {
	return feature{Name: name, Says: says, Values: leanings, Of: func(v *view) int { return leaning(of(v)) }}
}

// rivals tells how many other links ask for something.
func (v *view) rivals() int {
	if v.asked {
		return v.mail.asking - 1
	}
	return v.mail.asking
}

func secret(v *view) int { return int(v.secret) }

// parts are the places whose words count concept by concept.
var parts = []struct {
	name, says string
	of         func(*view) concept
	which      concept
}{
	{"voice", "It says so itself, or what stands before it does.", (*view).voice, every &^ (ignore | expires)},
	{"url", "The words of its URL say so.", func(v *view) concept { return v.means }, asks | others | password | email},
	{"beside", "A link that asks for nothing says so.", func(v *view) concept { return v.mail.beside }, others},
	{"subject", "The subject says so.", func(v *view) concept { return v.mail.subject }, every &^ (follow | ignore | expires)},
}

// features gives all that is known of a link.
func features() []feature {
	all := []feature{
		{Name: "bias", Says: "Every link.", Values: []string{"", "yes"}, Of: func(*view) int { return 1 }},
		{Name: "secret", Says: "What nobody can guess of it.", Values: []string{"", "digits", "short", "long", "named"}, Of: secret},
		lean("voice", "What is said of it, by itself or before it.", (*view).voice),
		{Name: "speaker", Says: "Where it is said.", Values: []string{"", "itself", "before", "above"}, Of: func(v *view) int {
			const telling = asks | others
			switch {
			case v.said&telling != 0:
				return 1
			case v.same&telling != 0:
				return 2
			case v.above&telling != 0:
				return 3
			}
			return 0
		}},
		lean("address", "What its URL asks for.", func(v *view) concept { return v.means }),
		lean("topic", "What the subject asks for.", func(v *view) concept { return v.mail.subject }),
		lean("inner", "What an address inside of its URL asks for.", func(v *view) concept { return v.inner }),
		count("words", "How many words its URL has.", func(v *view) int { return v.words }),
		count("rivals", "How many other links ask for something.", func(v *view) int { return v.rivals() }),
		count("twins", "How many others ask for the same.", func(v *view) int { return v.twins }),
		count("alike", "How many others have its host and the first part of its path.", func(v *view) int { return v.alike }),
		count("order", "Which of the links that may be meant it is.", func(v *view) int { return v.order }),
		count("anchors", "How often it stands in the HTML.", func(v *view) int { return v.anchors }),
		{Name: "links", Says: "How many links the mail has.", Values: []string{"", "1", "2", "3-4", "5-8", "more"}, Of: func(v *view) int {
			n := v.mail.links
			switch {
			case n <= 2:
				return n
			case n <= 4:
				return 3
			case n <= 8:
				return 4
			}
			return 5
		}},
		yes("printed", "It stands there as it is, to be copied.", func(v *view) bool { return v.printed }),
		yes("quoted", "It stands in an older mail that is quoted.", func(v *view) bool { return v.quoted }),
		yes("stray", "It does not stand in the HTML that there is.", func(v *view) bool { return v.mail.html && v.anchors == 0 }),
		yes("lost", "It stands in no text at all.", func(v *view) bool { return !v.located }),
		yes("long", "Its text is a sentence.", func(v *view) bool { return v.long }),
		yes("unlike", "What stands before it is for those who did not do it.", func(v *view) bool { return (v.same|v.above)&notMe != 0 }),
		yes("after", "What stands before it tells what was done already.", func(v *view) bool { return (v.same|v.above)&done != 0 }),
		yes("goods", "What stands before it is about something ordered.", func(v *view) bool { return (v.same|v.above)&order != 0 }),
		yes("blamed", "What stands behind it is for those who did not do it.", func(v *view) bool { return v.below&notMe != 0 }),
		yes("choice", "Behind it stands how to decline.", func(v *view) bool { return v.below&decline != 0 }),
		yes("ignore", "Beside it stands what to do for those who did not ask.", func(v *view) bool { return (v.same|v.above|v.below)&ignore != 0 }),
		yes("expires", "Beside it stands how long it is valid.", func(v *view) bool { return (v.same|v.above|v.below)&expires != 0 }),
	}
	for _, p := range parts {
		for i, name := range conceptNames {
			if p.which&(1<<i) == 0 {
				continue
			}
			all = append(all, yes(p.name+"-"+name, p.says, func(v *view) bool { return p.of(v)&(1<<i) != 0 }))
		}
	}
	return all
}

// crosses are pairs of features that say more together.
var crosses = [][2]string{
	{"voice", "secret"},
	{"voice", "speaker"},
	{"voice", "address"},
	{"voice", "topic"},
	{"voice", "rivals"},
	{"voice", "stray"},
	{"address", "secret"},
	{"address", "topic"},
	{"topic", "secret"},
	{"topic", "rivals"},
	{"secret", "alike"},
	{"secret", "links"},
	{"secret", "stray"},
	{"voice-approve", "voice-notme"},
	{"voice-approve", "voice-order"},
	{"voice-confirm", "voice-order"},
	{"voice-signin", "voice-go"},
	{"voice-join", "subject-order"},
	{"voice-confirm", "subject-order"},
	{"voice-signin", "secret"},
	{"subject-done", "voice"},
	{"subject-signin", "voice"},
	{"voice", "unlike"},
	{"voice-reset", "unlike"},
	{"voice-signin", "topic"},
	{"voice-activate", "topic"},
	{"voice-confirm", "topic"},
	{"voice-join", "topic"},
	{"voice", "ignore"},
	{"voice", "expires"},
	{"voice", "order"},
}
