// Package link finds the one link of a mail that confirms something, signs in or sets a new
// password. It knows words, in links and about them; nothing is ever fetched.
package link

// Mail is what the search for a link reads of a mail.
type Mail struct {
	Subject string
	Text    string // the plain text part
	Links   []string
	Anchors []Anchor // visible links of the HTML with a short text
}

// Anchor is a link and what it says.
type Anchor struct{ URL, Text string }

// Find gives the link of a mail that confirms or signs in, or "". Where no HTML says what the
// links do, the text before them does.
func Find(m Mail) string {
	anchors := m.Anchors
	if len(anchors) == 0 {
		spoken := spoken(m.Text, m.Links)
		anchors = denied(spoken)
		if link := foremost(m.Links, anchors); link != "" {
			return link
		}
		anchors = append(anchors, spoken...)
	}
	if link := foremost(m.Links, anchors); link != "" {
		return link
	}
	return asked(&m, anchors)
}
