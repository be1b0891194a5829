package link

import (
	_ "embed"

	"inboxd/internal/otp/concept"
	"inboxd/internal/otp/model"
)

//go:embed weights.txt
var weightsFile string

// links weighs the links of a mail.
var links = model.New(features(), nil, crosses, weightsFile)

type feature = model.Feature[view]

func lean(name, says string, of func(*view) concept.Set) feature {
	return feature{Name: name, Says: says, Values: concept.Leanings, Of: func(v *view) int { return of(v).Says() }}
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
	of         func(*view) concept.Set
	which      concept.Set
}{
	{"voice", "It says so itself, or what stands before it does.", (*view).voice, concept.Every &^ (concept.Ignore | concept.Expires)},
	{"url", "The words of its URL say so.", func(v *view) concept.Set { return v.means }, concept.Asks | concept.Others | concept.Password | concept.Email},
	{"beside", "A link that asks for nothing says so.", func(v *view) concept.Set { return v.mail.beside }, concept.Others},
	{"subject", "The subject says so.", func(v *view) concept.Set { return v.mail.subject }, concept.Every &^ (concept.Follow | concept.Ignore | concept.Expires)},
}

// features gives all that is known of a link.
func features() []feature {
	all := []feature{
		{Name: "bias", Says: "Every link.", Values: []string{"", "yes"}, Of: func(*view) int { return 1 }},
		{Name: "secret", Says: "What nobody can guess of it.", Values: []string{"", "digits", "short", "long", "named"}, Of: secret},
		lean("voice", "What is said of it, by itself or before it.", (*view).voice),
		{Name: "speaker", Says: "Where it is said.", Values: []string{"", "itself", "before", "above"}, Of: func(v *view) int {
			const telling = concept.Asks | concept.Others
			switch {
			case v.said.Has(telling):
				return 1
			case v.same.Has(telling):
				return 2
			case v.above.Has(telling):
				return 3
			}
			return 0
		}},
		lean("address", "What its URL asks for.", func(v *view) concept.Set { return v.means }),
		lean("topic", "What the subject asks for.", func(v *view) concept.Set { return v.mail.subject }),
		lean("inner", "What an address inside of its URL asks for.", func(v *view) concept.Set { return v.inner }),
		model.Count("words", "How many words its URL has.", 3, func(v *view) int { return v.words }),
		model.Count("rivals", "How many other links ask for something.", 3, func(v *view) int { return v.rivals() }),
		model.Count("twins", "How many others ask for the same.", 3, func(v *view) int { return v.twins }),
		model.Count("alike", "How many others have its host and the first part of its path.", 3, func(v *view) int { return v.alike }),
		model.Count("order", "Which of the links that may be meant it is.", 3, func(v *view) int { return v.order }),
		model.Count("anchors", "How often it stands in the HTML.", 3, func(v *view) int { return v.anchors }),
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
		model.Yes("printed", "It stands there as it is, to be copied.", func(v *view) bool { return v.printed }),
		model.Yes("quoted", "It stands in an older mail that is quoted.", func(v *view) bool { return v.quoted }),
		model.Yes("stray", "It does not stand in the HTML that there is.", func(v *view) bool { return v.mail.html && v.anchors == 0 }),
		model.Yes("lost", "It stands in no text at all.", func(v *view) bool { return !v.located }),
		model.Yes("long", "Its text is a sentence.", func(v *view) bool { return v.long }),
		model.Yes("unlike", "What stands before it is for those who did not do it.", func(v *view) bool { return (v.same | v.above).Has(concept.NotMe) }),
		model.Yes("after", "What stands before it tells what was done already.", func(v *view) bool { return (v.same | v.above).Has(concept.Done) }),
		model.Yes("goods", "What stands before it is about something ordered.", func(v *view) bool { return (v.same | v.above).Has(concept.Order) }),
		model.Yes("blamed", "What stands behind it is for those who did not do it.", func(v *view) bool { return v.below.Has(concept.NotMe) }),
		model.Yes("choice", "Behind it stands how to decline.", func(v *view) bool { return v.below.Has(concept.Decline) }),
		model.Yes("ignore", "Beside it stands what to do for those who did not ask.", func(v *view) bool { return (v.same | v.above | v.below).Has(concept.Ignore) }),
		model.Yes("expires", "Beside it stands how long it is valid.", func(v *view) bool { return (v.same | v.above | v.below).Has(concept.Expires) }),
	}
	for _, p := range parts {
		for i, name := range concept.Names {
			if p.which&(1<<i) == 0 {
				continue
			}
			all = append(all, model.Yes(p.name+"-"+name, p.says, func(v *view) bool { return p.of(v)&(1<<i) != 0 }))
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
