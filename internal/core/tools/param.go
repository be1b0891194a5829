package tools

// Limits of texts, in Unicode code points, as in the API.
const (
	maxAddress     = 254
	maxPrefix      = 64
	maxSubdomain   = 63
	maxDomain      = 253
	maxLabel       = 100
	maxSubject     = 200
	maxBody        = 1_000_000
	maxHTML        = 2_000_000
	maxTitle       = 300
	maxPlace       = 500
	maxDescription = 20_000
	maxComment     = 10_000
	maxGuestName   = 200
	maxMoment      = 64 // a time, or the name of a time zone
	maxMessageID   = 250
	maxMinutes     = 365 * 24 * 60
)

// must returns the parameter as required.
func must(p Param) Param {
	p.Required = true
	return p
}

// may is an optional text.
func may(name string, limit int, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"string"}, Description: says, MaxLength: limit}}
}

// clears returns the text as one whose empty value removes the stored one.
func clears(p Param) Param {
	p.EmptyClears = true
	return p
}

func yesNo(name, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"boolean"}, Description: says}}
}

// count is an integer of at least least.
func count(name string, least int, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"integer"}, Description: says, Minimum: &least}}
}

// most sets the maximum of an integer.
func most(p Param, limit int) Param {
	p.Maximum = &limit
	return p
}

// choice is one of several words.
func choice(name, says string, words ...string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"string"}, Description: says, Enum: words}}
}

// or sets the default of a parameter.
func or(p Param, value any) Param {
	p.Default = value
	return p
}

// list is an array; each describes one element.
func list(name, says string, each Schema) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"array"}, Description: says, Items: &each}}
}

func object(members ...Param) Schema {
	return Schema{Type: []string{"object"}, Properties: members}
}

// Parameters shared by several tools.
var (
	address = must(Param{Name: "address", Schema: Schema{
		Type: []string{"string"}, MinLength: 1, MaxLength: maxAddress,
		Description: "Address of the inbox, as returned by create_inbox or list_inboxes."}})
	messageID = must(count("message_id", 1, "Id of the message in that inbox, as returned by another tool."))
	eventID   = must(count("event_id", 1, "Id of the meeting in that inbox, from list_calendar_events or a message's calendar_event."))
	body      = may("body", maxBody, "Plain text of the message, at most 1,000,000 characters.")
	html      = may("html", maxHTML, "The same content as HTML, for mail programs that show it; at most 2,000,000 characters.")
	copied    = Schema{Type: []string{"string"}, MaxLength: maxAddress, Description: "An e-mail address."}
	cc        = list("cc", "Additional recipients, visible to all.", copied)
	bcc       = list("bcc", "Additional recipients, hidden from the others.", copied)
)
