package icalendar

import (
	"net/url"
	"slices"
	"strings"

	"github.com/emersion/go-ical"
)

// Properties from Google and Microsoft that RFC 5545 does not define.
const (
	propGoogleConference = "X-GOOGLE-CONFERENCE"
	propTeamsMeeting     = "X-MICROSOFT-SKYPETEAMSMEETINGURL"
	propAltDesc          = "X-ALT-DESC"
	propBusyStatus       = "X-MICROSOFT-CDO-BUSYSTATUS"
	propIntendedStatus   = "X-MICROSOFT-CDO-INTENDEDSTATUS" // Outlook's BUSYSTATUS of an invitation is TENTATIVE
)

const (
	maxLinks = 10   // CONFERENCE lines of an event
	maxURL   = 2048 // octets
)

// conferenceProps contain the join link of a conference, the most reliable first. URL may also be a
// page about the event, and LOCATION is a place unless it is a link.
var conferenceProps = [...]string{ical.PropConference, propGoogleConference, propTeamsMeeting, ical.PropURL, ical.PropLocation}

// linksOf are the links for joining an event's conference, without duplicates, and its description in
// HTML.
func linksOf(c *ical.Component) (links []string, altHTML string) {
	for _, name := range conferenceProps {
		for i := range c.Props[name] {
			if link, ok := webURL(textOf(c.Props[name][i].Value, maxURL+1)); ok && !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
	}
	return links, textProp(c, propAltDesc, MaxBytes)
}

// webURL returns text as an http or https URL, if it contains nothing else.
func webURL(text string) (link string, ok bool) {
	link = strings.TrimSpace(text)
	if len(link) > maxURL || strings.ContainsAny(link, " \t\n<>\"") {
		return "", false
	}
	u, err := url.Parse(link)
	if err != nil || u.Host == "" {
		return "", false
	}
	return link, u.Scheme == "https" || u.Scheme == "http"
}

// isTransparent reports whether an event makes nobody busy.
func isTransparent(c *ical.Component) bool {
	says := func(name, free string) bool {
		s, _ := firstValue(c, name)
		return strings.EqualFold(strings.TrimSpace(s), free)
	}
	return says(ical.PropTransparency, "TRANSPARENT") || says(propBusyStatus, "FREE") || says(propIntendedStatus, "FREE")
}
