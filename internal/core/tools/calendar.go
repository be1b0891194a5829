package tools

var calendarTools = []Tool{
	{
		Name: "list_calendar_events", Title: "List meetings", Hints: reads, Scopes: mayRead,
		Description: "Lists the meetings of an inbox, soonest first: those it was invited to by e-mail and those it organizes. my_status is its own response.",
		Params: []Param{
			address,
			or(yesNo("include_cancelled", "Also list cancelled meetings; false by default."), false),
		},
		Result: object(
			must(list("events", "Soonest first.", meeting)),
			must(yesNo("more", "The list is truncated: more meetings exist than fit into a response.")),
		),
	},
	{
		Name: "rsvp_to_invite", Title: "Answer an invitation", Hints: mails, Scopes: maySend,
		Description: "Responds to an invitation that the inbox received: accepted, declined or tentative. The organizer is notified by e-mail; the result says that the message is queued.",
		Params: []Param{
			address, eventID,
			must(choice("response", "One of accepted, declined, tentative.", "accepted", "declined", "tentative")),
			may("comment", maxComment, "A comment for the organizer, at most 10,000 characters."),
		},
		Result: arranged,
	},
	{
		Name: "create_calendar_event", Title: "Create a meeting", Hints: mails, Scopes: maySend,
		Description: "Creates a meeting with the inbox as its organizer and invites the guests by e-mail. A time without a UTC offset requires timezone.",
		Params: []Param{
			address,
			must(title), must(start),
			must(guests("The guests to invite; at least one other than the inbox itself.")),
			list("optional_attendees", "Additional guests whose attendance is optional. Addresses, or objects with email and name.", invited()),
			end, duration, zone, wholeDay, place, about, toGuests,
			may("in_reply_to", maxMessageID, "Message-ID of the message that the invitation replies to, <left@right>."),
		},
		Result: arranged,
	},
	{
		Name: "update_calendar_event", Title: "Change a meeting", Hints: mails, Scopes: maySend,
		Description: "Changes a meeting that the inbox organizes and notifies its guests by e-mail. Give only what changes. A moved meeting keeps its length, and all guests are asked again. Use rsvp_to_invite for meetings that the inbox was invited to. An empty location or description removes it.",
		Params: []Param{
			address, eventID, title, start, end, duration, zone, wholeDay, clears(place), clears(about),
			guests("The complete new list of guests: added guests are invited, removed guests get a cancellation."),
			toGuests,
		},
		Result: arranged,
	},
	{
		Name: "cancel_calendar_event", Title: "Cancel a meeting", Scopes: maySend,
		Hints:       Hints{Destructive: true, OpenWorld: true},
		Description: "Cancels a meeting that the inbox organizes and notifies its guests by e-mail. Cannot be undone.",
		Params:      []Param{address, eventID, toGuests},
		Result:      arranged,
	},
	{
		Name: "get_calendar_feed", Title: "Get calendar link", Hints: marks, Scopes: mayRead,
		Description: "Returns the link with which calendar programs subscribe to the meetings of an inbox. The first call creates it, later calls return the same one. Anyone with the link can read meetings, guests and responses.",
		Params:      []Param{address},
		Result:      feed,
	},
	{
		Name: "rotate_calendar_feed", Title: "Replace calendar link", Scopes: mayManage,
		Hints:       Hints{Destructive: true},
		Description: "Replaces the link of get_calendar_feed with a new one. The old link stops working at once for all subscribers.",
		Params:      []Param{address},
		Result:      feed,
	},
}

// Parameters of a meeting.
var (
	title    = may("title", maxTitle, "Title of the meeting, at most 300 characters, on one line.")
	start    = may("start", maxMoment, "Start, ISO 8601: 2026-12-01T15:00 with timezone, or with Z or an offset; a date for an all-day meeting.")
	end      = may("end", maxMoment, "End, in the same forms; the day after the last for an all-day meeting. Cannot be combined with duration_minutes.")
	duration = most(count("duration_minutes", 1, "Length, instead of end; at most a year. Without both: 30 minutes, or one day for an all-day meeting."), maxMinutes)
	zone     = may("timezone", maxMoment, "IANA name of the time zone, such as Europe/Berlin; required for times without an offset.")
	wholeDay = yesNo("all_day", "The meeting takes whole days; start and end are dates.")
	place    = may("location", maxPlace, "Location, at most 500 characters, on one line.")
	about    = may("description", maxDescription, "Description, at most 20,000 characters.")
	toGuests = may("message", maxComment, "A message to the guests, at most 10,000 characters; it appears only in the e-mail.")
)

func guests(says string) Param {
	return list("attendees", says+" Addresses, or objects with email, name and optional.", invited(yesNo("optional", "The guest's attendance is optional.")))
}

// invited is a guest's address, or an object that contains it.
func invited(more ...Param) Schema {
	members := append([]Param{
		must(may("email", maxAddress, "The guest's e-mail address.")),
		may("name", maxGuestName, "The guest's name, at most 200 characters."),
	}, more...)
	return Schema{AnyOf: []Schema{{Type: []string{"string"}, MaxLength: maxAddress, Description: "A guest's e-mail address."}, object(members...)}}
}
