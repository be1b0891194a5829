package tools

var calendarTools = []Tool{
	{
		Name: "list_calendar_events", Title: "List meetings", Hints: readHints, Scopes: mayRead,
		Description: "Lists the meetings of an inbox, soonest first: those it was invited to by e-mail and those it organizes. my_status is its own response.",
		Params: []Param{
			addressParam,
			or(yesNo("include_cancelled", "false by default."), false),
		},
		Result: openObject(
			requiredParam(arrayParam("events", "", meetingSchema)),
			requiredParam(yesNo("more", "")),
		),
	},
	{
		Name: "rsvp_to_invite", Title: "Answer an invitation", Hints: sendHints, Scopes: maySend,
		Description: "Responds to an invitation that the inbox received: accepted, declined or tentative. Notifies the organizer by e-mail.",
		Params: []Param{
			addressParam, eventID,
			requiredParam(enumParam("response", "Its response.", "accepted", "declined", "tentative")),
			optionalText("comment", maxComment, "For the organizer, at most 10,000 characters."),
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
			arrayParam("optional_attendees", "More guests, whose attendance is optional.", guestSchema()),
			endParam, durationParam, zoneParam, wholeDay, placeParam, descriptionParam, toGuests,
			optionalText("in_reply_to", maxMessageID, "Message-ID that the invitation replies to, <left@right>."),
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
		Description: "Returns the link with which calendar programs subscribe to the meetings of an inbox; the first call creates it. Anyone with the link can read meetings, guests and responses.",
		Params:      []Param{addressParam},
		Result:      feedResult,
	},
	{
		Name: "rotate_calendar_feed", Title: "Replace calendar link", Scopes: mayManage,
		Hints:       Hints{Destructive: true},
		Description: "Replaces the link of get_calendar_feed with a new one. The old link stops working at once.",
		Params:      []Param{addressParam},
		Result:      feedResult,
	},
}

// Parameters of a meeting.
var (
	titleParam       = optionalText("title", maxTitle, "At most 300 characters, on one line.")
	startParam       = optionalText("start", maxMoment, "ISO 8601: 2026-12-01T15:00 with timezone, or with Z or an offset; a date if all_day.")
	endParam         = optionalText("end", maxMoment, "End, in the same forms; the day after the last if all_day.")
	durationParam    = withMaximum(integerParam("duration_minutes", 1, "Instead of end, at most a year. Without both: 30 minutes, or one day if all_day."), maxMinutes)
	zoneParam        = optionalText("timezone", maxMoment, "IANA name, such as Europe/Berlin; required for times without an offset.")
	wholeDay         = yesNo("all_day", "start and end are dates.")
	placeParam       = optionalText("location", maxPlace, "At most 500 characters, on one line.")
	descriptionParam = optionalText("description", maxDescription, "At most 20,000 characters.")
	toGuests         = optionalText("message", maxComment, "Text of the e-mail to the guests, at most 10,000 characters.")
)

func guestsParam(says string) Param {
	return arrayParam("attendees", says+" Addresses, or objects with email, name and optional.", guestSchema(yesNo("optional", "Attendance is optional.")))
}

// guestSchema is a guest's address, or an object that contains it.
func guestSchema(more ...Param) Schema {
	members := append([]Param{
		requiredParam(optionalText("email", maxAddress, "E-mail address.")),
		optionalText("name", maxGuestName, "At most 200 characters."),
	}, more...)
	return Schema{AnyOf: []Schema{{Type: []string{"string"}, MaxLength: maxAddress}, objectSchema(members...)}}
}
