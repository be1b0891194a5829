package tools

var calendarTools = []Tool{
	{
		Name: "list_calendar_events", Title: "List meetings", Hints: readHints, Scopes: mayRead,
		Description: "Lists the meetings of an inbox, soonest first: those it was invited to by e-mail and those it organizes. my_status is its own response.",
		Params: []Param{
			addressParam,
			or(yesNo("include_cancelled", "Also list cancelled meetings; false by default."), false),
		},
		Result: objectSchema(
			requiredParam(arrayParam("events", "Soonest first.", meetingSchema)),
			requiredParam(yesNo("more", "The list is truncated: more meetings exist than fit into a response.")),
		),
	},
	{
		Name: "rsvp_to_invite", Title: "Answer an invitation", Hints: sendHints, Scopes: maySend,
		Description: "Responds to an invitation that the inbox received: accepted, declined or tentative. The organizer is notified by e-mail; the result says that the message is queued.",
		Params: []Param{
			addressParam, eventID,
			requiredParam(enumParam("response", "One of accepted, declined, tentative.", "accepted", "declined", "tentative")),
			optionalText("comment", maxComment, "A comment for the organizer, at most 10,000 characters."),
		},
		Result: arrangedResult,
	},
	{
		Name: "create_calendar_event", Title: "Create a meeting", Hints: sendHints, Scopes: maySend,
		Description: "Creates a meeting with the inbox as its organizer and invites the guests by e-mail. A time without a UTC offset requires timezone.",
		Params: []Param{
			addressParam,
			requiredParam(titleParam), requiredParam(startParam),
			requiredParam(guestsParam("The guests to invite; at least one other than the inbox itself.")),
			arrayParam("optional_attendees", "Additional guests whose attendance is optional. Addresses, or objects with email and name.", guestSchema()),
			endParam, durationParam, zoneParam, wholeDay, placeParam, descriptionParam, toGuests,
			optionalText("in_reply_to", maxMessageID, "Message-ID of the message that the invitation replies to, <left@right>."),
		},
		Result: arrangedResult,
	},
	{
		Name: "update_calendar_event", Title: "Change a meeting", Hints: sendHints, Scopes: maySend,
		Description: "Changes a meeting that the inbox organizes and notifies its guests by e-mail. Give only what changes. A moved meeting keeps its length, and all guests are asked again. Use rsvp_to_invite for meetings that the inbox was invited to. An empty location or description removes it.",
		Params: []Param{
			addressParam, eventID, titleParam, startParam, endParam, durationParam, zoneParam, wholeDay, clearableText(placeParam), clearableText(descriptionParam),
			guestsParam("The complete new list of guests: added guests are invited, removed guests get a cancellation."),
			toGuests,
		},
		Result: arrangedResult,
	},
	{
		Name: "cancel_calendar_event", Title: "Cancel a meeting", Scopes: maySend,
		Hints:       Hints{Destructive: true, OpenWorld: true},
		Description: "Cancels a meeting that the inbox organizes and notifies its guests by e-mail. Cannot be undone.",
		Params:      []Param{addressParam, eventID, toGuests},
		Result:      arrangedResult,
	},
	{
		Name: "get_calendar_feed", Title: "Get calendar link", Hints: markHints, Scopes: mayRead,
		Description: "Returns the link with which calendar programs subscribe to the meetings of an inbox. The first call creates it, later calls return the same one. Anyone with the link can read meetings, guests and responses.",
		Params:      []Param{addressParam},
		Result:      feedResult,
	},
	{
		Name: "rotate_calendar_feed", Title: "Replace calendar link", Scopes: mayManage,
		Hints:       Hints{Destructive: true},
		Description: "Replaces the link of get_calendar_feed with a new one. The old link stops working at once for all subscribers.",
		Params:      []Param{addressParam},
		Result:      feedResult,
	},
}

// Parameters of a meeting.
var (
	titleParam       = optionalText("title", maxTitle, "Title of the meeting, at most 300 characters, on one line.")
	startParam       = optionalText("start", maxMoment, "Start, ISO 8601: 2026-12-01T15:00 with timezone, or with Z or an offset; a date for an all-day meeting.")
	endParam         = optionalText("end", maxMoment, "End, in the same forms; the day after the last for an all-day meeting. Cannot be combined with duration_minutes.")
	durationParam    = withMaximum(integerParam("duration_minutes", 1, "Length, instead of end; at most a year. Without both: 30 minutes, or one day for an all-day meeting."), maxMinutes)
	zoneParam        = optionalText("timezone", maxMoment, "IANA name of the time zone, such as Europe/Berlin; required for times without an offset.")
	wholeDay         = yesNo("all_day", "The meeting takes whole days; start and end are dates.")
	placeParam       = optionalText("location", maxPlace, "Location, at most 500 characters, on one line.")
	descriptionParam = optionalText("description", maxDescription, "Description, at most 20,000 characters.")
	toGuests         = optionalText("message", maxComment, "A message to the guests, at most 10,000 characters; it appears only in the e-mail.")
)

func guestsParam(says string) Param {
	return arrayParam("attendees", says+" Addresses, or objects with email, name and optional.", guestSchema(yesNo("optional", "The guest's attendance is optional.")))
}

// guestSchema is a guest's address, or an object that contains it.
func guestSchema(more ...Param) Schema {
	members := append([]Param{
		requiredParam(optionalText("email", maxAddress, "The guest's e-mail address.")),
		optionalText("name", maxGuestName, "The guest's name, at most 200 characters."),
	}, more...)
	return Schema{AnyOf: []Schema{{Type: []string{"string"}, MaxLength: maxAddress, Description: "A guest's e-mail address."}, objectSchema(members...)}}
}
