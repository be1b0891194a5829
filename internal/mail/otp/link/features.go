package link

import (
	_ "embed"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/model"
)

//go:embed weights.txt
var weightsFile string

// links is the model that scores the links of a message.
var links = model.New(features, bags, weightsFile)

type feature = model.Feature[view]

// lean returns a feature that summarizes a set of concepts: see concept.Set.Says.
func lean(name, says string, of func(*view) concept.Set) feature {
	return feature{Name: name, Says: says, Values: concept.Leanings, Of: func(v *view) int { return of(v).Says() }}
}

// features are the features of a link; each has one value. The names and the order of the values
// are those of weights.txt.
var features = []feature{
	model.Yes("bias", "Every link.", func(*view) bool { return true }),
	{Name: "secret", Says: "What nobody can guess of it.", Values: []string{"", "digits", "short", "long", "named"}, Of: func(v *view) int { return int(v.secret) }},
	lean("voice", "What is said of it, by itself or before it.", (*view).voice),
	{Name: "speaker", Says: "Where it is said.", Values: []string{"", "itself", "before", "above"}, Of: (*view).speaker},
	lean("address", "What its URL asks for.", func(v *view) concept.Set { return v.means }),
	lean("topic", "What the subject asks for.", func(v *view) concept.Set { return v.mail.subject }),
	lean("inner", "What an address inside of its URL asks for.", func(v *view) concept.Set { return v.inner }),
	model.Count("words", "How many words its URL has.", 3, func(v *view) int { return v.words }),
	model.Count("rivals", "How many other links ask for something.", 3, func(v *view) int { return v.rivals() }),
	model.Count("twins", "How many others ask for the same.", 3, func(v *view) int { return v.twins }),
	model.Count("alike", "How many others have its host and the first part of its path.", 3, func(v *view) int { return v.alike }),
	model.Count("order", "Which of the links that may be meant it is.", 3, func(v *view) int { return v.order }),
	model.Count("anchors", "How often it stands in the HTML.", 3, func(v *view) int { return v.anchors }),
	{Name: "links", Says: "How many links the mail has.", Values: []string{"", "1", "2", "3-4", "5-8", "more"}, Of: func(v *view) int { return 1 + model.Step(v.mail.links, 1, 2, 4, 8) }},
	model.Yes("printed", "It stands there as it is, to be copied.", func(v *view) bool { return v.printed }),
	model.Yes("quoted", "It stands in an older mail that is quoted.", func(v *view) bool { return v.quoted }),
	model.Yes("stray", "It does not stand in the HTML that there is.", func(v *view) bool { return v.mail.html && v.anchors == 0 }),
	model.Yes("lost", "It stands in no text at all.", func(v *view) bool { return !v.located }),
	model.Yes("long", "Its text is a sentence.", func(v *view) bool { return v.long }),
	model.Yes("unlike", "What stands before it is for those who did not do it.", func(v *view) bool { return (v.same | v.above).Has(concept.NotMe) }),
	model.Yes("ignore", "Beside it stands what to do for those who did not ask.", func(v *view) bool { return (v.same | v.above | v.below).Has(concept.Ignore) }),
	model.Yes("expires", "Beside it stands how long it is valid.", func(v *view) bool { return (v.same | v.above | v.below).Has(concept.Expires) }),
}

// bagOf returns a bag feature of concepts.
func bagOf(name, says string, of func(*view) concept.Set) model.Bag[view] {
	return model.Bag[view]{Name: name, Says: says, Values: concept.Names, Of: func(v *view) uint64 { return uint64(of(v)) }}
}

// bags are the bag features of a link: the concepts in each place.
var bags = []model.Bag[view]{
	bagOf("says", "It says so itself, or what stands before it does.", (*view).voice),
	bagOf("before", "What stands before it says so.", func(v *view) concept.Set { return v.same | v.above }),
	bagOf("behind", "What stands behind it says so.", func(v *view) concept.Set { return v.below }),
	bagOf("url", "The words of its URL say so.", func(v *view) concept.Set { return v.means }),
	bagOf("beside", "A link that asks for nothing says so.", func(v *view) concept.Set { return v.mail.beside }),
	bagOf("subject", "The subject says so.", func(v *view) concept.Set { return v.mail.subject }),
}
