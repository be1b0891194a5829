// Package link finds the link of a message that confirms an address or an action, signs in, resets
// a password or accepts an invitation. It scores each link with a small neural network (package
// model). The features of a link come from its text, the text around it, its URL and the subject.
// Words count as the concepts that they stand for in many languages (package concept). The package
// has no list of senders, and it never fetches a URL.
package link

import "inboxd/internal/mail/otp/model"

// SearchInput is the part of a message that Find reads.
type SearchInput struct {
	Subject     string
	Text        string   // the plain text part
	VisibleText string   // visible text of the HTML part
	Links       []string // URLs of the message
	Anchors     []Anchor // visible links of the HTML with a short text
}

// Anchor is a link of the HTML with its visible text.
type Anchor struct {
	URL, Text string
	At        int // byte offset of Text in VisibleText
}

// Find returns the link of a message that confirms, signs in, resets or accepts. It returns "" if
// no single link reaches the threshold of the model: the message has none, or several are equally
// likely. Its work is linear in the input.
func Find(m SearchInput) string {
	if len(m.Links) == 0 {
		return ""
	}
	c := collectorPool.Get().(*linkCollector)
	defer collectorPool.Put(c)
	all, scores := c.collectCandidates(&m), [maxKept]float64{}
	shares := scores[:len(all)]
	for i := range all {
		shares[i] = linkModel.Score(&all[i])
	}
	model.ApplySoftmax(shares)
	for i, share := range shares {
		if share >= linkModel.Threshold {
			return all[i].url
		}
	}
	return ""
}
