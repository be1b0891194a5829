package http

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/calendar"
)

// Clients that were written for the service whose API this is read other members of some answers. Under
// /compat/api/v1 the same handlers make the same calls, and answers have that form (ADR 0112). It is off the fast
// path of polls.

const compatPrefix = "/compat"

// compatCalls are the calls that such clients make, without what is before them in the path.
var compatCalls = map[string]bool{
	"POST /inboxes": true, "GET /inboxes": true, "DELETE /inboxes/{addr}": true, "POST /inboxes/{addr}/burn": true,
	"GET /inboxes/{addr}/latest": true, "POST /inboxes/{addr}/send": true,
	"GET /inboxes/{addr}/messages": true, "GET /inboxes/{addr}/messages/{id}": true, "DELETE /inboxes/{addr}/messages/{id}": true,
	"POST /inboxes/{addr}/messages/{id}/read": true, "GET /inboxes/{addr}/messages/{id}/attachments/{aid}": true,
	"GET /inboxes/{addr}/calendar/events": true, "POST /inboxes/{addr}/calendar/events": true,
	"GET /inboxes/{addr}/calendar/events/{id}": true, "PATCH /inboxes/{addr}/calendar/events/{id}": true,
	"POST /inboxes/{addr}/calendar/events/{id}/rsvp": true, "POST /inboxes/{addr}/calendar/events/{id}/cancel": true,
	"GET /inboxes/{addr}/calendar/feed": true, "DELETE /inboxes/{addr}/calendar/feed": true,
	"POST /inboxes/{addr}/calendar/feed/rotate": true,
}

// withCompat adds the routes under compatPrefix.
func withCompat(all []route) []route {
	for _, rt := range all[:len(all):len(all)] {
		call, agents := strings.CutPrefix(rt.path, "/api/v1")
		if agents && compatCalls[rt.method+" "+call] {
			rt.path = compatPrefix + rt.path
			all = append(all, rt)
		}
	}
	return all
}

func (rt *route) isCompat() bool { return strings.HasPrefix(rt.path, compatPrefix) }

// form is what answers hold that are not asked for more or less.
type form struct {
	message, listed             fieldSet // members of a single message, and of one in a list
	text                        int      // octets of the text of a listed message; 0: all
	messages, inboxes, meetings int64    // how many a list holds
}

var (
	ownForm = form{allFields, listFields, listBodyBytes, defaultMessages, defaultInboxes, defaultMeetings}
	// compatForm has whole messages in lists, which such clients never page through.
	compatForm = form{compatFields, compatFields, 0, maxMessages, maxInboxes, maxMeetings}
	// compatFields calls the two texts of a message as such clients do.
	compatFields = allFields&^fieldsNamed("body", "html") | compatTexts
	compatTexts  = fieldsNamed("body_text", "body_html")
)

func (r *request) form() *form {
	if r.route.isCompat() {
		return &compatForm
	}
	return &ownForm
}

// shownMeeting is a meeting as an answer has it: under compatPrefix an inbox has accepted what it organizes itself.
func (rt *route) shownMeeting(m *calendar.Meeting) *calendar.Meeting {
	if !rt.isCompat() {
		return m
	}
	return m.AsOrganizers()
}

func (rt *route) shownMeetings(all []*calendar.Meeting) []*calendar.Meeting {
	if !rt.isCompat() {
		return all
	}
	return each(all, func(m **calendar.Meeting) *calendar.Meeting { return rt.shownMeeting(*m) })
}

// fileType is the type of an attachment's answer. Under compatPrefix JSON is an envelope, see sealedJSON, and no file.
func (rt *route) fileType(declared string) string {
	if rt.isCompat() && declared == string(typeJSON) {
		return "application/octet-stream"
	}
	return inertType(declared)
}

// sealedJSON answers with the envelope of an attachment in JSON, by which such clients know that they can't read it.
func (r *request) sealedJSON(envelope *io.SectionReader, missing error) error {
	if err := r.reserve(3 * envelope.Size()); err != nil { // as it is, and in base64
		return err
	}
	raw := make([]byte, envelope.Size())
	if _, err := io.ReadFull(envelope, raw); errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
		return missing
	} else if err != nil {
		return err
	}
	b := base64.StdEncoding.AppendEncode([]byte(`{"envelope":"`), raw)
	writeJSON(r.http, fasthttp.StatusOK, r.appendEnd(append(b, '"')))
	return nil
}
