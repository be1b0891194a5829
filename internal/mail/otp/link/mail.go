// Package link finds the one link of a mail that confirms an address or an act, signs in, sets a new
// password or accepts an invitation. What is known of each link are features with names, of what is said on
// it, around it, in its URL and in the subject; words count by the concepts that they stand for in any
// language that we know (package concept). It knows no senders, and nothing is ever fetched.
package link

import "inboxd/internal/mail/otp/model"

// Mail is what the search for a link reads of a mail.
type Mail struct {
	Subject string
	Text    string // the plain text part
	Visible string // visible text of the HTML part
	Links   []string
	Anchors []Anchor // visible links of the HTML with a short text
}

// Anchor is a link and what it says, and where that begins in Visible.
type Anchor struct {
	URL, Text string
	At        int
}

// Find gives the link of a mail that confirms, signs in, resets or accepts, or "" when there is none or
// several could be meant. Its work is linear in the input.
func Find(m Mail) string {
	if len(m.Links) == 0 {
		return ""
	}
	c := collectors.Get().(*collector)
	defer collectors.Put(c)
	all, scores := c.collect(&m), [maxKept]float64{}
	shares := scores[:len(all)]
	for i := range all {
		shares[i] = links.Score(&all[i])
	}
	model.Shares(shares)
	for i, share := range shares {
		if share >= links.Threshold {
			return all[i].url
		}
	}
	return ""
}
