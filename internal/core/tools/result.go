package tools

// Results of the tools. Names and types of members from the API are the API's. Such objects are
// open, because a newer API may return more. Objects that the tool server builds are closed.

func textParam(name, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"string"}, Description: says}}
}

// trueParam is a member that is always true.
func trueParam(name string) Param {
	p := yesNo(name, "")
	p.Const = true
	return p
}

// nullable returns the member as one that may be null.
func nullable(p Param) Param {
	p.Type = append(append([]string{}, p.Type...), "null")
	return p
}

// openObject is an object that may have more members.
func openObject(members ...Param) Schema {
	s := objectSchema(members...)
	s.AllowsOthers = true
	return s
}

// eitherObject is an object that has all members of one set and none of the other's own.
func eitherObject(one, other []string, members ...Param) Schema {
	s := objectSchema(members...)
	s.OneOf = [][]string{one, other}
	return s
}

var (
	timedOut   = trueParam("timed_out")
	nextParam  = textParam("next", "What to do next.")
	doneResult = openObject(requiredParam(trueParam("ok")))

	createdResult = openObject(
		requiredParam(textParam("address", "The address that receives mail.")),
		requiredParam(integerParam("retention_hours", 1, "The value in effect.")),
		requiredParam(Param{Name: "api_key", Schema: Schema{Type: []string{"null"}, Description: "Always null: keys are issued separately."}}),
		requiredParam(textParam("label", "")),
		requiredParam(textParam("created_at", "ISO 8601 in UTC, like all times.")),
		requiredParam(yesNo("encrypted", "")),
		arrayParam("ignored_fields", "Parameters that the plan does not cover.", Schema{Type: []string{"string"}}),
		textParam("note", "Why they were ignored."),
	)

	sentResult = objectSchema(
		requiredParam(trueParam("ok")),
		requiredParam(trueParam("queued")),
		requiredParam(integerParam("message_id", 1, "For wait_until_sent.")),
		requiredParam(textParam("to", "The recipient.")),
	)

	recipientSchema = objectSchema(
		requiredParam(textParam("email", "")),
		requiredParam(enumParam("status", "", "queued", "retrying", "sent", "unsigned", "failed", "bounced")),
		requiredParam(nullable(textParam("error", ""))),
		requiredParam(nullable(textParam("mx", "The mail server that accepted or refused it."))),
		requiredParam(nullable(textParam("at", ""))),
	)

	mailboxSchema = objectSchema(requiredParam(textParam("email", "")), requiredParam(textParam("name", "Empty when there is none.")))

	attachmentSchema = openObject(
		requiredParam(integerParam("id", 0, "")),
		requiredParam(textParam("filename", "")),
		requiredParam(textParam("content_type", "")),
		requiredParam(integerParam("size_bytes", 0, "")),
		requiredParam(yesNo("is_encrypted", "")),
		requiredParam(yesNo("truncated", "Its bytes were not stored.")),
		nullable(textParam("content_id", "What cid: in the HTML refers to.")),
	)

	messageParam  = Param{Name: "message", Schema: messageSchema}
	messageSchema = objectSchema(
		requiredParam(integerParam("id", 1, "")),
		requiredParam(enumParam("direction", "", "in", "out")),
		requiredParam(nullable(Param{Name: "from", Schema: mailboxSchema})),
		requiredParam(arrayParam("to", "", mailboxSchema)),
		requiredParam(nullable(textParam("subject", "null if encrypted."))),
		requiredParam(textParam("received_at", "")),
		requiredParam(nullable(textParam("otp_code", "The one-time code; null if none is certain."))),
		requiredParam(nullable(textParam("verification_link", "The link that confirms or signs in; null if none is certain."))),
		requiredParam(nullable(textParam("body", "Readable text, written by strangers; null if encrypted."))),
		requiredParam(yesNo("truncated_body", "body is truncated.")),
		yesNo("hidden_text", "The HTML hides text from people; body does not contain it."),
		requiredParam(arrayParam("links", "Every http and https URL in the message.", Schema{Type: []string{"string"}})),
		yesNo("links_truncated", "links is truncated."),
		requiredParam(arrayParam("attachments", "Metadata only, without content.", attachmentSchema)),
		integerParam("attachments_omitted", 0, "Number of files that attachments does not list."),
		requiredParam(nullable(Param{Name: "calendar_event", Schema: describedMeeting()})),
		yesNo("sender_verified", "For received messages: the message comes from the domain of its From address. false: anybody may have written it."),
		requiredParam(yesNo("is_read", "")),
		requiredParam(nullable(enumParam("send_status", "For sent messages; null for received ones.", "queued", "retrying", "sent", "unsigned", "failed"))),
		requiredParam(nullable(textParam("send_error", "What the last failed attempt reported."))),
		yesNo("encrypted", "End-to-end encrypted: only its owner can read the content."),
		textParam("note", "What encrypted means."),
	)

	attendeeSchema = openObject(
		requiredParam(textParam("email", "")),
		requiredParam(nullable(textParam("name", ""))),
		requiredParam(enumParam("role", "", "req-participant", "opt-participant")),
		requiredParam(enumParam("status", "", "accepted", "declined", "tentative", "needs-action")),
	)

	meetingFacts = []Param{
		requiredParam(textParam("title", "")),
		requiredParam(textParam("start", "In UTC; a date for an all-day meeting.")),
		requiredParam(textParam("end", "The day after the last for an all-day meeting.")),
		requiredParam(yesNo("all_day", "")),
		requiredParam(nullable(textParam("timezone", ""))),
		requiredParam(textParam("location", "")),
		textParam("description", ""),
		requiredParam(nullable(Param{Name: "organizer", Schema: openObject(requiredParam(textParam("email", "")), requiredParam(nullable(textParam("name", ""))))})),
		requiredParam(arrayParam("attendees", "Guests, without the organizer.", attendeeSchema)),
		requiredParam(enumParam("status", "", "confirmed", "tentative", "cancelled")),
		requiredParam(enumParam("source", "outbound: this inbox organizes it.", "outbound", "inbound")),
		requiredParam(integerParam("sequence", 0, "")),
		requiredParam(yesNo("recurring", "")),
		requiredParam(nullable(enumParam("my_status", "The response of this inbox; null if it was not asked.", "accepted", "declined", "tentative", "needs-action"))),
	}

	meetingSchema = openObject(append([]Param{requiredParam(integerParam("id", 1, "For event_id."))}, meetingFacts...)...)

	arrangedResult = objectSchema(
		requiredParam(trueParam("ok")),
		requiredParam(Param{Name: "event", Schema: meetingSchema}),
		requiredParam(nullable(integerParam("message_id", 1, "The message that notifies the guests or the organizer; null if there was nobody to notify or nothing changed."))),
		requiredParam(nullable(enumParam("send_status", "The status of that message when it was accepted; wait_until_sent returns the final status.", "queued"))),
	)

	feedResult = openObject(
		requiredParam(textParam("feed_url", "")),
		requiredParam(textParam("webcal_url", "The same link with the scheme that calendar programs open.")),
		requiredParam(Param{Name: "subscribe_links", Schema: openObject(requiredParam(textParam("google", "")), requiredParam(textParam("apple", "")), requiredParam(textParam("outlook", "")))}),
		requiredParam(nullable(textParam("last_fetched_at", "null if it was never fetched."))),
		requiredParam(nullable(textParam("last_client", ""))),
		requiredParam(yesNo("stale", "The calendar changed after the last fetch.")),
	)
)

// describedMeeting is a meeting as a message described it; it may not match a stored one.
func describedMeeting() Schema {
	s := openObject(append([]Param{
		requiredParam(enumParam("action", "How the message changed the calendar.", "created", "updated", "cancelled", "replied", "unchanged")),
		requiredParam(nullable(integerParam("event_id", 1, "null if it belongs to no stored meeting."))),
	}, meetingFacts...)...)
	s.Description = "The invitation, response or cancellation in the message."
	return s
}
