package tools

var calendarTools = []Tool{
	{
		Name: "list_calendar_events", Title: "List meetings", Hints: reads, Scopes: mayRead,
		Description: "Lists the meetings of an inbox, soonest first: those it was invited to by mail, and those it organizes. my_status is its own answer.",
		Params: []Param{
			address,
			or(yesNo("include_cancelled", "Cancelled meetings too; false by default."), false),
		},
		Result: object(
			must(list("events", "Soonest first.", meeting)),
			must(yesNo("more", "The list was cut: there are more meetings than fit an answer.")),
		),
	},
	{
		Name: "rsvp_to_invite", Title: "Answer an invitation", Hints: mails, Scopes: maySend,
		Description: "Answers an invitation that the inbox received: accepted, declined or tentative. The organizer gets a mail; the answer says that it is queued.",
		Params: []Param{
			address, eventID,
			must(choice("response", "One of accepted, declined, tentative.", "accepted", "declined", "tentative")),
			may("comment", maxComment, "A word to the organizer, at most 10,000 characters."),
		},
		Result: arranged,
	},
	{
		Name: "create_calendar_event", Title: "Create a meeting", Hints: mails, Scopes: maySend,
		Description: "Sets up a meeting with the inbox as its organizer and invites its guests by mail. A time without an offset needs timezone; nothing is guessed.",
		Params: []Param{
			address,
			must(title), must(start),
			must(guests("Whom to invite; somebody besides the inbox itself.")),
			list("optional_attendees", "More guests, who need not come. Addresses, or objects with email and name.", invited()),
			end, duration, zone, wholeDay, place, about, toGuests,
			may("in_reply_to", maxMessageID, "Message-ID of the mail that the invitation answers, <left@right>."),
		},
		Result: arranged,
	},
	{
		Name: "update_calendar_event", Title: "Change a meeting", Hints: mails, Scopes: maySend,
		Description: "Changes a meeting that the inbox organizes and tells its guests by mail. Give only what changes; a meeting that moves keeps its length, and everybody is asked again. Meetings that it was invited to are answered with rsvp_to_invite. An empty location or description removes it.",
		Params: []Param{
			address, eventID, title, start, end, duration, zone, wholeDay, clears(place), clears(about),
			guests("All guests that there shall be: new ones are invited, missing ones get a cancellation."),
			toGuests,
		},
		Result: arranged,
	},
	{
		Name: "cancel_calendar_event", Title: "Cancel a meeting", Scopes: maySend,
		Hints:       Hints{Destructive: true, OpenWorld: true},
		Description: "Cancels a meeting that the inbox organizes and tells its guests by mail. Cannot be undone.",
		Params:      []Param{address, eventID, toGuests},
		Result:      arranged,
	},
	{
		Name: "get_calendar_feed", Title: "Get calendar link", Hints: marks, Scopes: mayRead,
		Description: "Answers the link under which calendar programs follow the meetings of an inbox, always the same one; the first call makes it. Whoever has it can read meetings, guests and answers.",
		Params:      []Param{address},
		Result:      feed,
	},
	{
		Name: "rotate_calendar_feed", Title: "Replace calendar link", Scopes: mayManage,
		Hints:       Hints{Destructive: true},
		Description: "Replaces the link of get_calendar_feed by a new one; the old one stops at once, for everybody who follows it.",
		Params:      []Param{address},
		Result:      feed,
	},
}

// Parameters of a meeting.
var (
	title    = may("title", maxTitle, "What it is about, at most 300 characters, on one line.")
	start    = may("start", maxMoment, "When it begins, ISO 8601: 2026-12-01T15:00 with timezone, or with Z or an offset; of an all-day meeting a date.")
	end      = may("end", maxMoment, "When it ends, in the same forms; of an all-day meeting the day after the last. Not together with duration_minutes.")
	duration = most(count("duration_minutes", 1, "Its length instead of end, at most a year; without either 30 minutes, or one day."), maxMinutes)
	zone     = may("timezone", maxMoment, "IANA name of the time zone, such as Europe/Berlin; needed for times without an offset.")
	wholeDay = yesNo("all_day", "It takes whole days; start and end are dates then.")
	place    = may("location", maxPlace, "Where it is, at most 500 characters, on one line.")
	about    = may("description", maxDescription, "What is to be known about it, at most 20,000 characters.")
	toGuests = may("message", maxComment, "A word to the guests, at most 10,000 characters; it stands in the mail alone.")
)

func guests(says string) Param {
	return list("attendees", says+" Addresses, or objects with email, name and optional.", invited(yesNo("optional", "The guest need not come.")))
}

// invited is a guest's address, or an object that contains it.
func invited(more ...Param) Schema {
	members := append([]Param{
		must(may("email", maxAddress, "The guest's e-mail address.")),
		may("name", maxGuestName, "The guest's name, at most 200 characters."),
	}, more...)
	return Schema{AnyOf: []Schema{{Type: []string{"string"}, MaxLength: maxAddress, Description: "A guest's e-mail address."}, object(members...)}}
}
