package http

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"inboxd/internal/base/fault"
)

// fieldKind is the type of a member of a request body.
type fieldKind uint8

const (
	lineField    fieldKind = iota + 1 // a string for a header field: no line breaks or control characters
	textField                         // a string
	integerField                      // a whole number
	booleanField                      // true or false
	namesField                        // an array of line
	filesField                        // an array of fileShape
	bodiesField                       // an array of any JSON values; each entry is checked as a body of its own
	guestsField                       // an array of line, or of objects with an e-mail address
)

// fieldRule is the rule for one member of a request body. All error messages about the member are made
// here.
type fieldRule struct {
	name        string
	displayPath string // name in error messages; empty: name
	valueKind   fieldKind
	isRequired  bool
	maxLength   int // of a string: Unicode code points; of names: entries
	minValue    int // of an integer
	maxEntry    int // of an entry of names: code points; 0: maxName
}

// bodyShape is the set of members that a body may have. An empty shape, unlike nil, accepts an empty
// object.
type bodyShape []fieldRule

// These are the limits of text (specification, Sending; the address: RFC 5321 section 4.5.3.1).
const (
	maxLabel     = 100
	maxAddress   = 254
	maxPassword  = 128
	maxPublicKey = 10_000
	maxPrefix    = 64
	maxSubdomain = 63
	maxDomain    = 253
	maxScopes    = 20
	maxName      = 64 // one entry of names
	maxToken     = 200
)

var (
	signInShape = bodyShape{
		{name: "email", valueKind: lineField, isRequired: true, maxLength: maxAddress},
		{name: "password", valueKind: textField, isRequired: true, maxLength: maxPassword},
	}
	resetShape   = bodyShape{{name: "email", valueKind: lineField, isRequired: true, maxLength: maxAddress}}
	confirmShape = bodyShape{
		{name: "token", valueKind: lineField, isRequired: true, maxLength: maxToken},
		{name: "password", valueKind: textField, isRequired: true, maxLength: maxPassword},
	}
	passwordShape = bodyShape{
		{name: "old", valueKind: textField, isRequired: true, maxLength: maxPassword},
		{name: "new", valueKind: textField, isRequired: true, maxLength: maxPassword},
	}
	verifyShape = bodyShape{{name: "token", valueKind: lineField, isRequired: true, maxLength: maxToken}}
	// The limit permits a complete key file that was sent by mistake, so that the error names the
	// mistake and not the length.
	encryptionShape = bodyShape{
		{name: "public_key", valueKind: textField, isRequired: true, maxLength: maxPublicKey},
		{name: "password", valueKind: textField, maxLength: maxPassword},
	}
	passwordOnly = bodyShape{{name: "password", valueKind: textField, maxLength: maxPassword}}
	keyShape     = bodyShape{
		{name: "label", valueKind: lineField, maxLength: maxLabel},
		{name: "scopes", valueKind: namesField, maxLength: maxScopes},
		{name: "expires_in_days", valueKind: integerField, minValue: 1},
	}
	inboxKeyShape = bodyShape{
		{name: "scopes", valueKind: namesField, maxLength: maxScopes},
		{name: "expires_in_days", valueKind: integerField, minValue: 1},
	}
	orderShape = bodyShape{
		{name: "prefix", valueKind: lineField, maxLength: maxPrefix},
		{name: "subdomain", valueKind: lineField, maxLength: maxSubdomain},
		{name: "domain", valueKind: lineField, maxLength: maxDomain},
		{name: "label", valueKind: lineField, maxLength: maxLabel},
		{name: "retention_hours", valueKind: integerField, minValue: 1},
		{name: "keep_newest", valueKind: booleanField},
	}
	sessionOrderShape = append(orderShape[:len(orderShape):len(orderShape)], fieldRule{name: "encrypted", valueKind: booleanField})
	updateShape       = bodyShape{
		{name: "label", valueKind: lineField, maxLength: maxLabel},
		{name: "retention_hours", valueKind: integerField, minValue: 1},
		{name: "keep_newest", valueKind: booleanField},
	}
	batchShape = bodyShape{{name: "inboxes", valueKind: bodiesField, isRequired: true, maxLength: maxBatch}}
	readShape  = bodyShape{{name: "read", valueKind: booleanField}, {name: "claim", valueKind: booleanField}}
	emptyShape = bodyShape{}
)

func (s bodyShape) findField(name string) *fieldRule {
	for i := range s {
		if s[i].name == name {
			return &s[i]
		}
	}
	return nil
}

// unknownMember returns the error for a member that is not in the shape. The error lists the valid
// members.
func (s bodyShape) unknownMember(name string) error {
	if len(s) > 0 { // a nested member has its path in the message
		name = strings.TrimSuffix(s[0].displayName(), s[0].name) + name
	}
	name = strings.Map(printableRune, name)
	if utf8.RuneCountInString(name) > maxName {
		name = string([]rune(name)[:maxName]) + "…"
	}
	known := make([]string, len(s))
	for i, f := range s {
		known[i] = f.displayName()
	}
	text := "is not a field of this request, which has no fields"
	if len(known) > 0 {
		text = "is not a field of this request. Its fields are: " + strings.Join(known, ", ")
	}
	if name == "" {
		return invalidFault("'' %s", text)
	}
	return fault.InvalidField(name, "%s", text)
}

func printableRune(r rune) rune {
	if unicode.IsControl(r) {
		return utf8.RuneError
	}
	return r
}

var kindNouns = map[fieldKind]string{
	lineField: "a string", textField: "a string", integerField: "a whole number", booleanField: "true or false", namesField: "an array of strings", filesField: "an array of objects", bodiesField: "an array of objects", guestsField: "an array of addresses, or of objects with an 'email'",
}

// displayName returns the name of the member in error messages.
func (f *fieldRule) displayName() string { return cmp.Or(f.displayPath, f.name) }

func (f *fieldRule) missingFault() error { return fault.InvalidField(f.displayName(), "is required") }
func (f *fieldRule) mistyped() error {
	return fault.InvalidField(f.displayName(), "must be %s", kindNouns[f.valueKind])
}
func (f *fieldRule) twiceFault() error { return fault.InvalidField(f.displayName(), "is given twice") }
func (f *fieldRule) malformedFault() error {
	return fault.InvalidField(f.displayName(), "is not valid JSON text")
}
func (f *fieldRule) unstorable() error {
	return fault.InvalidField(f.displayName(), "cannot be stored: it contains an invalid escape, an unpaired surrogate or invalid UTF-8")
}

// checkText checks the length and the characters of a string.
func (f *fieldRule) checkText(s string, limit int) error {
	return fault.CheckText(f.displayName(), s, limit, f.valueKind != textField)
}

func (f *fieldRule) checkNumber(n int64) error {
	if n < int64(f.minValue) {
		return fault.InvalidField(f.displayName(), "is %d; it must be at least %d", n, f.minValue)
	}
	return nil
}

func (f *fieldRule) checkCount(n int) error {
	if n > f.maxLength {
		return fault.InvalidField(f.displayName(), "has too many entries (%d). The limit is %d", n, f.maxLength)
	}
	return nil
}
