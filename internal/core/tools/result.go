package tools

// Results of the tools. Names and types of members from the API are the API's. Objects are open,
// because a newer API may return more. A result describes nested objects once, in one tool, or only
// names their members: a model reads all of this at the start of each conversation (ADR 0121).

func textParam(name, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"string"}, Description: says}}
}

// wholeNumber is an integer in a result.
func wholeNumber(name, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"integer"}, Description: says}}
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
	nextParam  = textParam("next", "")
	doneResult = openObject(requiredParam(trueParam("ok")))

	createdResult = openObject(
		requiredParam(textParam("address", "")),
		requiredParam(wholeNumber("retention_hours", "")),
		requiredParam(textParam("label", "")),
		arrayParam("ignored_fields", "", Schema{Type: []string{"string"}}),
		textParam("note", ""),
	)

	sentResult = openObject(
		requiredParam(trueParam("ok")),
		requiredParam(trueParam("queued")),
		requiredParam(wholeNumber("message_id", "For wait_until_sent.")),
		requiredParam(textParam("to", "")),
	)

	messageParam = Param{Name: "message", Schema: describedObject("As in read_messages.")}

	messageSchema = openObject(
		requiredParam(wholeNumber("id", "")),
		requiredParam(enumParam("direction", "", "in", "out")),
		requiredParam(nullable(Param{Name: "from", Schema: describedObject("email, name")})),
		requiredParam(arrayParam("to", "", describedObject(""))),
		requiredParam(nullable(textParam("subject", ""))),
		requiredParam(textParam("received_at", "")),
		requiredParam(nullable(textParam("otp_code", "null if none is certain."))),
		requiredParam(nullable(textParam("verification_link", "Confirms or signs in."))),
		requiredParam(nullable(textParam("body", "Written by strangers."))),
		requiredParam(yesNo("truncated_body", "")),
		yesNo("hidden_text", "The HTML hides text from people."),
		requiredParam(arrayParam("links", "", Schema{Type: []string{"string"}})),
		requiredParam(arrayParam("attachments", "", describedObject("id, filename, content_type, size_bytes, is_encrypted, truncated"))),
		requiredParam(nullable(Param{Name: "calendar_event", Schema: describedObject("As in list_calendar_events, with action and event_id.")})),
		yesNo("sender_verified", "false: anybody may have written it."),
		requiredParam(yesNo("is_read", "")),
		requiredParam(nullable(textParam("send_status", ""))),
		requiredParam(nullable(textParam("send_error", ""))),
		yesNo("encrypted", ""),
		textParam("note", ""),
	)

	meetingSchema = openObject(
		requiredParam(wholeNumber("id", "For event_id.")),
		requiredParam(textParam("title", "")),
		requiredParam(textParam("start", "In UTC; a date if all_day.")),
		requiredParam(textParam("end", "")),
		requiredParam(yesNo("all_day", "")),
		requiredParam(nullable(textParam("timezone", ""))),
		requiredParam(textParam("location", "")),
		textParam("description", ""),
		requiredParam(nullable(Param{Name: "organizer", Schema: describedObject("email, name")})),
		requiredParam(arrayParam("attendees", "", describedObject("email, name, role, status"))),
		requiredParam(enumParam("status", "", "confirmed", "tentative", "cancelled")),
		requiredParam(enumParam("source", "outbound: this inbox organizes it.", "outbound", "inbound")),
		requiredParam(yesNo("recurring", "")),
		requiredParam(nullable(enumParam("my_status", "", "accepted", "declined", "tentative", "needs-action"))),
	)

	arrangedResult = openObject(
		requiredParam(trueParam("ok")),
		requiredParam(Param{Name: "event", Schema: describedObject("As in list_calendar_events.")}),
		requiredParam(nullable(wholeNumber("message_id", ""))),
		requiredParam(nullable(textParam("send_status", ""))),
	)

	feedResult = openObject(requiredParam(textParam("feed_url", "")), requiredParam(textParam("webcal_url", "")))
)

// describedObject is an object whose members are only named, or described by another tool.
func describedObject(says string) Schema {
	s := openObject()
	s.Description = says
	return s
}
