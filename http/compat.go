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

// Clients written for the service that had this API before read different members of some
// responses. Under /compat/api/v1 the same handlers serve the same calls with responses in that
// form (ADR 0112). These routes do not use the fast path for polls.

const compatPrefix = "/compat"

// compatCalls are the calls that such clients make, without the path prefix.
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
func withCompat(all []routeSpec) []routeSpec {
	for _, rt := range all[:len(all):len(all)] {
		call, agents := strings.CutPrefix(rt.pathPattern, "/api/v1")
		if agents && compatCalls[rt.method+" "+call] {
			rt.pathPattern = compatPrefix + rt.pathPattern
			all = append(all, rt)
		}
	}
	return all
}

func (rt *routeSpec) isCompat() bool { return strings.HasPrefix(rt.pathPattern, compatPrefix) }

// responseForm is the default content of responses when the request does not select fields or limits.
type responseForm struct {
	messageFields, listedFields            fieldSet // members of a single message, and of a message in a list
	maxText                                int      // octets of the text of a listed message; 0: no limit
	messageLimit, inboxLimit, meetingLimit int64    // default page sizes
}

var (
	ownForm = responseForm{allFields, listFields, listBodyBytes, defaultMessages, defaultInboxes, defaultMeetings}
	// compatForm has complete messages in lists and the largest pages, because such clients never
	// request a second page.
	compatForm = responseForm{compatFields, compatFields, 0, maxMessages, maxInboxes, maxMeetings}
	// compatFields uses those clients' names for the two texts of a message.
	compatFields = allFields&^fieldsNamed("body", "html", "link_texts") | compatTexts
	compatTexts  = fieldsNamed("body_text", "body_html")
)

func (r *apiRequest) responseForm() *responseForm {
	if r.route.isCompat() {
		return &compatForm
	}
	return &ownForm
}

// shownMeeting returns a meeting as the response shows it. Under compatPrefix an inbox has accepted
// the meetings that it organizes.
func (rt *routeSpec) shownMeeting(m *calendar.Meeting) *calendar.Meeting {
	if !rt.isCompat() {
		return m
	}
	return m.AsOrganizers()
}

func (rt *routeSpec) shownMeetings(all []*calendar.Meeting) []*calendar.Meeting {
	if !rt.isCompat() {
		return all
	}
	return mapEach(all, func(m **calendar.Meeting) *calendar.Meeting { return rt.shownMeeting(*m) })
}

// fileType returns the content type of an attachment. Under compatPrefix JSON means an envelope,
// see sealedJSON, so JSON files get another type.
func (rt *routeSpec) fileType(declared string) string {
	if rt.isCompat() && declared == string(typeJSON) {
		return "application/octet-stream"
	}
	return inertType(declared)
}

// sealedJSON responds with the envelope of an attachment in JSON. By that type, such clients
// recognize that they cannot read it.
func (r *apiRequest) sealedJSON(envelope *io.SectionReader, missing error) error {
	if err := r.reserveBytes(3 * envelope.Size()); err != nil { // once raw, and once in base64
		return err
	}
	raw := make([]byte, envelope.Size())
	if _, err := io.ReadFull(envelope, raw); errors.Is(err, fs.ErrNotExist) { // deleted in the meantime
		return missing
	} else if err != nil {
		return err
	}
	b := base64.StdEncoding.AppendEncode([]byte(`{"envelope":"`), raw)
	writeJSON(r.httpCtx, fasthttp.StatusOK, r.appendEnd(append(b, '"')))
	return nil
}
