package link

import (
	_ "embed"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/model"
)

//go:embed weights.txt
var weightsFile string

// linkModel is the model that scores the links of a message.
var linkModel = model.New(linkFeatures, bagFeatures, weightsFile)

type feature = model.Feature[linkView]

// leaningFeature returns a feature that summarizes a set of concepts: see concept.Set.Says.
func leaningFeature(name, says string, of func(*linkView) concept.Set) feature {
	return feature{Name: name, HelpText: says, Values: concept.LeaningValues, Of: func(v *linkView) int { return of(v).LeaningIndex() }}
}

// linkFeatures are the features of a link; each has one value. The names and the order of the values
// are those of weights.txt.
var linkFeatures = []feature{
	model.BooleanFeature("bias", "Every link.", func(*linkView) bool { return true }),
	{Name: "secret", HelpText: "What nobody can guess of it.", Values: []string{"", "digits", "tiny", "short", "long", "named"}, Of: func(v *linkView) int { return int(v.secret) }},
	leaningFeature("voice", "What is said of it, by itself or before it.", (*linkView).describingConcepts),
	{Name: "speaker", HelpText: "Where it is said.", Values: []string{"", "itself", "before", "above"}, Of: (*linkView).describingText},
	leaningFeature("address", "What its URL asks for.", func(v *linkView) concept.Set { return v.wordConcepts }),
	leaningFeature("topic", "What the subject asks for.", func(v *linkView) concept.Set { return v.messageContext.subjectConcepts }),
	leaningFeature("inner", "What an address inside of its URL asks for.", func(v *linkView) concept.Set { return v.nestedConcepts }),
	{Name: "stronger", HelpText: "How its secret compares to those of the other links.", Values: []string{"", "most", "equal", "less"}, Of: (*linkView).compareSecret},
	model.CountFeature("words", "How many words its URL has.", 5, func(v *linkView) int { return v.wordCount }),
	model.CountFeature("parts", "How many parts its path and its parameters have.", 4, func(v *linkView) int { return v.partCount }),
	model.BooleanFeature("placeholder", "A part of it stands for a value to fill in.", func(v *linkView) bool { return v.isPlaceholder }),
	model.BooleanFeature("api", "It is an address for programs.", func(v *linkView) bool { return v.isAPI }),
	model.BooleanFeature("program", "It stands in a line of a program.", func(v *linkView) bool { return v.isProgramText }),
	model.CountFeature("rivals", "How many other links ask for something.", 3, func(v *linkView) int { return v.rivalCount() }),
	model.CountFeature("twins", "How many others ask for the same.", 3, func(v *linkView) int { return v.sameActionCount }),
	model.CountFeature("alike", "How many others have its host and the first part of its path.", 3, func(v *linkView) int { return v.similarCount }),
	model.CountFeature("order", "Which of the links that may be meant it is.", 3, func(v *linkView) int { return v.candidateIndex }),
	model.CountFeature("anchors", "How often it stands in the HTML.", 3, func(v *linkView) int { return v.anchorCount }),
	{Name: "links", HelpText: "How many links the mail has.", Values: []string{"", "1", "2", "3-4", "5-8", "more"}, Of: func(v *linkView) int { return 1 + model.BucketIndex(v.messageContext.linkCount, 1, 2, 4, 8) }},
	{Name: "body", HelpText: "How many bytes the mail's text has.", Values: []string{"", "short", "medium", "long"}, Of: func(v *linkView) int { return model.BucketIndex(v.messageContext.textLength, 250, 700, 2000) }},
	{Name: "code", HelpText: "Whether the mail shows a code, and whether its URL carries it.", Values: []string{"", "shown", "alone", "carried"}, Of: (*linkView).carriesCode},
	model.BooleanFeature("printed", "It stands there as it is, to be copied.", func(v *linkView) bool { return v.showsURL }),
	model.BooleanFeature("quoted", "It stands in an older mail that is quoted.", func(v *linkView) bool { return v.isQuoted }),
	model.BooleanFeature("stray", "It does not stand in the HTML that there is.", func(v *linkView) bool { return v.messageContext.hasHTML && v.anchorCount == 0 }),
	model.BooleanFeature("lost", "It stands in no text at all.", func(v *linkView) bool { return !v.isLocated }),
	model.BooleanFeature("long", "Its text is a sentence.", func(v *linkView) bool { return v.isSentence }),
	model.BooleanFeature("unlike", "What stands before it is for those who did not do it.", func(v *linkView) bool { return (v.sentenceConcepts | v.conceptsAbove).HasAny(concept.NotMe) }),
	model.BooleanFeature("ignore", "Beside it stands what to do for those who did not ask.", func(v *linkView) bool {
		return (v.sentenceConcepts | v.conceptsAbove | v.conceptsBelow).HasAny(concept.IgnoreNotice)
	}),
	model.BooleanFeature("expires", "Beside it stands how long it is valid.", func(v *linkView) bool {
		return (v.sentenceConcepts | v.conceptsAbove | v.conceptsBelow).HasAny(concept.ExpiryNotice)
	}),
}

// bagOf returns a bag feature of concepts.
func bagOf(name, says string, of func(*linkView) concept.Set) model.BagFeature[linkView] {
	return model.BagFeature[linkView]{Name: name, HelpText: says, Values: concept.NamesByBit, Of: func(v *linkView) uint64 { return uint64(of(v)) }}
}

// bagFeatures are the bag features of a link: the concepts in each place.
var bagFeatures = []model.BagFeature[linkView]{
	bagOf("says", "It says so itself, or what stands before it does.", (*linkView).describingConcepts),
	bagOf("before", "What stands before it says so.", func(v *linkView) concept.Set { return v.sentenceConcepts | v.conceptsAbove }),
	bagOf("behind", "What stands behind it says so.", func(v *linkView) concept.Set { return v.conceptsBelow }),
	bagOf("url", "The words of its URL say so.", func(v *linkView) concept.Set { return v.wordConcepts }),
	bagOf("beside", "A link that asks for nothing says so.", func(v *linkView) concept.Set { return v.messageContext.otherConcepts }),
	bagOf("text", "The text of the mail says so.", func(v *linkView) concept.Set { return v.messageContext.textConcepts }),
	bagOf("subject", "The subject says so.", func(v *linkView) concept.Set { return v.messageContext.subjectConcepts }),
}
