package tools

// Results of the tools. Names and types of members from the API are the API's. Such objects are
// open, because a newer API may return more. Objects that the tool server builds are closed.

func text(name, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"string"}, Description: says}}
}

// truth is a member that is always true.
func truth(name string) Param {
	p := yesNo(name, "")
	p.Const = true
	return p
}

// nullable returns the member as one that may be null.
func nullable(p Param) Param {
	p.Type = append(append([]string{}, p.Type...), "null")
	return p
}

// open is an object that may have more members.
func open(members ...Param) Schema {
	s := object(members...)
	s.Open = true
	return s
}

// either is an object that has all members of one set and none of the other's own.
func either(one, other []string, members ...Param) Schema {
	s := object(members...)
	s.OneOf = [][]string{one, other}
	return s
}

var (
	timedOut = truth("timed_out")
	next     = text("next", "What to do next.")
	done     = open(must(truth("ok")))

	created = open(
		must(text("address", "The address that receives mail.")),
		must(count("retention_hours", 1, "The value in effect.")),
		must(Param{Name: "api_key", Schema: Schema{Type: []string{"null"}, Description: "Always null: keys are issued separately."}}),
		must(text("label", "")),
		must(text("created_at", "ISO 8601 in UTC, like all times.")),
		must(yesNo("encrypted", "")),
		list("ignored_fields", "Parameters that the plan does not cover.", Schema{Type: []string{"string"}}),
		text("note", "Why they were ignored."),
	)

	sent = object(
		must(truth("ok")),
		must(truth("queued")),
		must(count("message_id", 1, "For wait_until_sent.")),
		must(text("to", "The recipient.")),
	)

	recipient = object(
		must(text("email", "")),
		must(choice("status", "", "queued", "retrying", "sent", "unsigned", "failed", "bounced")),
		must(nullable(text("error", ""))),
		must(nullable(text("mx", "The mail server that accepted or refused it."))),
		must(nullable(text("at", ""))),
	)

	mailbox = object(must(text("email", "")), must(text("name", "Empty when there is none.")))

	attachment = open(
		must(count("id", 0, "")),
		must(text("filename", "")),
		must(text("content_type", "")),
		must(count("size_bytes", 0, "")),
		must(yesNo("is_encrypted", "")),
		must(yesNo("truncated", "Its bytes were not stored.")),
		nullable(text("content_id", "What cid: in the HTML refers to.")),
	)

	handed  = Param{Name: "message", Schema: message}
	message = object(
		must(count("id", 1, "")),
		must(choice("direction", "", "in", "out")),
		must(nullable(Param{Name: "from", Schema: mailbox})),
		must(list("to", "", mailbox)),
		must(nullable(text("subject", "null if encrypted."))),
		must(text("received_at", "")),
		must(nullable(text("otp_code", "The one-time code; null if none is certain."))),
		must(nullable(text("verification_link", "The link that confirms or signs in; null if none is certain."))),
		must(nullable(text("body", "Readable text, written by strangers; null if encrypted."))),
		must(yesNo("truncated_body", "body is truncated.")),
		yesNo("hidden_text", "The HTML hides text from people; body does not contain it."),
		must(list("links", "Every http and https URL in the message.", Schema{Type: []string{"string"}})),
		yesNo("links_truncated", "links is truncated."),
		must(list("attachments", "Metadata only, without content.", attachment)),
		count("attachments_omitted", 0, "Number of files that attachments does not list."),
		must(nullable(Param{Name: "calendar_event", Schema: said()})),
		yesNo("sender_verified", "For received messages: the message comes from the domain of its From address. false: anybody may have written it."),
		must(yesNo("is_read", "")),
		must(nullable(choice("send_status", "For sent messages; null for received ones.", "queued", "retrying", "sent", "unsigned", "failed"))),
		must(nullable(text("send_error", "What the last failed attempt reported."))),
		yesNo("encrypted", "End-to-end encrypted: only its owner can read the content."),
		text("note", "What encrypted means."),
	)

	guest = open(
		must(text("email", "")),
		must(nullable(text("name", ""))),
		must(choice("role", "", "req-participant", "opt-participant")),
		must(choice("status", "", "accepted", "declined", "tentative", "needs-action")),
	)

	meetingFacts = []Param{
		must(text("title", "")),
		must(text("start", "In UTC; a date for an all-day meeting.")),
		must(text("end", "The day after the last for an all-day meeting.")),
		must(yesNo("all_day", "")),
		must(nullable(text("timezone", ""))),
		must(text("location", "")),
		text("description", ""),
		must(nullable(Param{Name: "organizer", Schema: open(must(text("email", "")), must(nullable(text("name", ""))))})),
		must(list("attendees", "Guests, without the organizer.", guest)),
		must(choice("status", "", "confirmed", "tentative", "cancelled")),
		must(choice("source", "outbound: this inbox organizes it.", "outbound", "inbound")),
		must(count("sequence", 0, "")),
		must(yesNo("recurring", "")),
		must(nullable(choice("my_status", "The response of this inbox; null if it was not asked.", "accepted", "declined", "tentative", "needs-action"))),
	}

	meeting = open(append([]Param{must(count("id", 1, "For event_id."))}, meetingFacts...)...)

	arranged = object(
		must(truth("ok")),
		must(Param{Name: "event", Schema: meeting}),
		must(nullable(count("message_id", 1, "The message that notifies the guests or the organizer; null if there was nobody to notify or nothing changed."))),
		must(nullable(choice("send_status", "The status of that message when it was accepted; wait_until_sent returns the final status.", "queued"))),
	)

	feed = open(
		must(text("feed_url", "")),
		must(text("webcal_url", "The same link with the scheme that calendar programs open.")),
		must(Param{Name: "subscribe_links", Schema: open(must(text("google", "")), must(text("apple", "")), must(text("outlook", "")))}),
		must(nullable(text("last_fetched_at", "null if it was never fetched."))),
		must(nullable(text("last_client", ""))),
		must(yesNo("stale", "The calendar changed after the last fetch.")),
	)
)

// said is a meeting as a message described it; it may not match a stored one.
func said() Schema {
	s := open(append([]Param{
		must(choice("action", "How the message changed the calendar.", "created", "updated", "cancelled", "replied", "unchanged")),
		must(nullable(count("event_id", 1, "null if it belongs to no stored meeting."))),
	}, meetingFacts...)...)
	s.Description = "The invitation, response or cancellation in the message."
	return s
}
