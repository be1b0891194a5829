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
	next     = text("next", "What to do now.")
	done     = open(must(truth("ok")))

	created = open(
		must(text("address", "Give this to whoever shall write.")),
		must(count("retention_hours", 1, "In force, after lowering.")),
		must(Param{Name: "api_key", Schema: Schema{Type: []string{"null"}, Description: "Always null: a key is issued apart."}}),
		must(text("label", "")),
		must(text("created_at", "ISO 8601 in UTC, as all times.")),
		must(yesNo("encrypted", "")),
		list("ignored_fields", "What the plan does not cover.", Schema{Type: []string{"string"}}),
		text("note", "Why."),
	)

	sent = object(
		must(truth("ok")),
		must(truth("queued")),
		must(count("message_id", 1, "For wait_until_sent.")),
		must(text("to", "Whom it goes to.")),
	)

	recipient = object(
		must(text("email", "")),
		must(choice("status", "", "queued", "retrying", "sent", "unsigned", "failed", "bounced")),
		must(nullable(text("error", ""))),
		must(nullable(text("mx", "The server that took or refused it."))),
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
		must(nullable(text("subject", "null: encrypted."))),
		must(text("received_at", "")),
		must(nullable(text("otp_code", "The one-time code; null: none that is sure."))),
		must(nullable(text("verification_link", "The one link that confirms or signs in; null: none that is sure."))),
		must(nullable(text("body", "Readable text, by strangers; null: encrypted."))),
		must(yesNo("truncated_body", "body was cut.")),
		yesNo("hidden_text", "Its HTML hides text from people, which body is without."),
		must(list("links", "Every http and https address in it.", Schema{Type: []string{"string"}})),
		yesNo("links_truncated", "links was cut."),
		must(list("attachments", "Facts alone, no bytes.", attachment)),
		count("attachments_omitted", 0, "Files that attachments leaves out."),
		must(nullable(Param{Name: "calendar_event", Schema: said()})),
		yesNo("sender_verified", "Of received mail: it comes from the domain of its From. false: anybody may have written it."),
		must(yesNo("is_read", "")),
		must(nullable(choice("send_status", "Of sent mail; null of received.", "queued", "retrying", "sent", "unsigned", "failed"))),
		must(nullable(text("send_error", "What the last failed attempt reported."))),
		yesNo("encrypted", "Only its owner can read what is in it."),
		text("note", "What that means."),
	)

	guest = open(
		must(text("email", "")),
		must(nullable(text("name", ""))),
		must(choice("role", "", "req-participant", "opt-participant")),
		must(choice("status", "", "accepted", "declined", "tentative", "needs-action")),
	)

	meetingFacts = []Param{
		must(text("title", "")),
		must(text("start", "In UTC; of an all-day meeting a date.")),
		must(text("end", "Of an all-day meeting the day after the last.")),
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
		must(nullable(choice("my_status", "This inbox's own answer; null: it was not asked.", "accepted", "declined", "tentative", "needs-action"))),
	}

	meeting = open(append([]Param{must(count("id", 1, "For event_id."))}, meetingFacts...)...)

	arranged = object(
		must(truth("ok")),
		must(Param{Name: "event", Schema: meeting}),
		must(nullable(count("message_id", 1, "The mail that tells of it; null: there was nobody to tell, or nothing changed."))),
		must(nullable(choice("send_status", "Of that message as it was accepted; wait_until_sent tells what becomes of it.", "queued"))),
	)

	feed = open(
		must(text("feed_url", "")),
		must(text("webcal_url", "The same, as calendar programs open it.")),
		must(Param{Name: "subscribe_links", Schema: open(must(text("google", "")), must(text("apple", "")), must(text("outlook", "")))}),
		must(nullable(text("last_fetched_at", "null: nobody looked yet."))),
		must(nullable(text("last_client", ""))),
		must(yesNo("stale", "The calendar changed after that.")),
	)
)

// said is a meeting as a message described it; it may not match a stored one.
func said() Schema {
	s := open(append([]Param{
		must(choice("action", "What the mail did to the calendar.", "created", "updated", "cancelled", "replied", "unchanged")),
		must(nullable(count("event_id", 1, "null: it belongs to no meeting that is kept."))),
	}, meetingFacts...)...)
	s.Description = "The invitation, answer or cancellation that it carries."
	return s
}
