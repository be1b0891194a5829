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

// requiredParam returns the parameter as required.
func requiredParam(p Param) Param {
	p.Required = true
	return p
}

// optionalText is an optional text.
func optionalText(name string, limit int, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"string"}, Description: says, MaxLength: limit}}
}

// clearableText returns the text as one whose empty value removes the stored one.
func clearableText(p Param) Param {
	p.EmptyClears = true
	return p
}

func yesNo(name, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"boolean"}, Description: says}}
}

// integerParam is an integer of at least least.
func integerParam(name string, least int, says string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"integer"}, Description: says, Minimum: &least}}
}

// withMaximum sets the maximum of an integer.
func withMaximum(p Param, limit int) Param {
	p.Maximum = &limit
	return p
}

// enumParam is one of several words.
func enumParam(name, says string, words ...string) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"string"}, Description: says, Enum: words}}
}

// or sets the default of a parameter.
func or(p Param, value any) Param {
	p.Default = value
	return p
}

// arrayParam is an array; each describes one element.
func arrayParam(name, says string, each Schema) Param {
	return Param{Name: name, Schema: Schema{Type: []string{"array"}, Description: says, Items: &each}}
}

func objectSchema(members ...Param) Schema {
	return Schema{Type: []string{"object"}, Properties: members}
}

// Parameters shared by several tools.
var (
	addressParam = requiredParam(Param{Name: "address", Schema: Schema{
		Type: []string{"string"}, MinLength: 1, MaxLength: maxAddress,
		Description: "Address of the inbox."}})
	messageID         = requiredParam(integerParam("message_id", 1, "Id of a message of that inbox."))
	eventID           = requiredParam(integerParam("event_id", 1, "From list_calendar_events or a message's calendar_event."))
	bodyParam         = optionalText("body", maxBody, "Plain text, at most 1,000,000 characters.")
	htmlParam         = optionalText("html", maxHTML, "The same as HTML, at most 2,000,000 characters.")
	mailAddressSchema = Schema{Type: []string{"string"}, MaxLength: maxAddress}
	cc                = arrayParam("cc", "More recipients.", mailAddressSchema)
	bcc               = arrayParam("bcc", "Hidden recipients.", mailAddressSchema)
)
