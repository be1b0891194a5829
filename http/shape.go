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
	line    fieldKind = iota + 1 // a string for a header field: no line breaks or control characters
	text                         // a string
	integer                      // a whole number
	boolean                      // true or false
	names                        // an array of line
	files                        // an array of fileShape
	bodies                       // an array of any JSON values; each entry is checked as a body of its own
	guests                       // an array of line, or of objects with an e-mail address
)

// field is the rule for one member of a request body. All error messages about the member are made
// here.
type field struct {
	name     string
	path     string // name in error messages; empty: name
	kind     fieldKind
	required bool
	max      int // of a string: Unicode code points; of names: entries
	min      int // of an integer
	each     int // of an entry of names: code points; 0: maxName
}

// shape is the set of members that a body may have. An empty shape, unlike nil, accepts an empty
// object.
type shape []field

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
	signInShape = shape{
		{name: "email", kind: line, required: true, max: maxAddress},
		{name: "password", kind: text, required: true, max: maxPassword},
	}
	resetShape   = shape{{name: "email", kind: line, required: true, max: maxAddress}}
	confirmShape = shape{
		{name: "token", kind: line, required: true, max: maxToken},
		{name: "password", kind: text, required: true, max: maxPassword},
	}
	passwordShape = shape{
		{name: "old", kind: text, required: true, max: maxPassword},
		{name: "new", kind: text, required: true, max: maxPassword},
	}
	verifyShape = shape{{name: "token", kind: line, required: true, max: maxToken}}
	// The limit permits a complete key file that was sent by mistake, so that the error names the
	// mistake and not the length.
	encryptionShape = shape{
		{name: "public_key", kind: text, required: true, max: maxPublicKey},
		{name: "password", kind: text, max: maxPassword},
	}
	passwordOnly = shape{{name: "password", kind: text, max: maxPassword}}
	keyShape     = shape{
		{name: "label", kind: line, max: maxLabel},
		{name: "scopes", kind: names, max: maxScopes},
		{name: "expires_in_days", kind: integer, min: 1},
	}
	inboxKeyShape = shape{
		{name: "scopes", kind: names, max: maxScopes},
		{name: "expires_in_days", kind: integer, min: 1},
	}
	orderShape = shape{
		{name: "prefix", kind: line, max: maxPrefix},
		{name: "subdomain", kind: line, max: maxSubdomain},
		{name: "domain", kind: line, max: maxDomain},
		{name: "label", kind: line, max: maxLabel},
		{name: "retention_hours", kind: integer, min: 1},
		{name: "keep_newest", kind: boolean},
	}
	sessionOrderShape = append(orderShape[:len(orderShape):len(orderShape)], field{name: "encrypted", kind: boolean})
	updateShape       = shape{
		{name: "label", kind: line, max: maxLabel},
		{name: "retention_hours", kind: integer, min: 1},
		{name: "keep_newest", kind: boolean},
	}
	batchShape = shape{{name: "inboxes", kind: bodies, required: true, max: maxBatch}}
	readShape  = shape{{name: "read", kind: boolean}, {name: "claim", kind: boolean}}
	emptyShape = shape{}
)

func (s shape) find(name string) *field {
	for i := range s {
		if s[i].name == name {
			return &s[i]
		}
	}
	return nil
}

// unknown returns the error for a member that is not in the shape. The error lists the valid
// members.
func (s shape) unknown(name string) error {
	if len(s) > 0 { // a nested member has its path in the message
		name = strings.TrimSuffix(s[0].said(), s[0].name) + name
	}
	name = strings.Map(printable, name)
	if utf8.RuneCountInString(name) > maxName {
		name = string([]rune(name)[:maxName]) + "…"
	}
	known := make([]string, len(s))
	for i, f := range s {
		known[i] = f.said()
	}
	if len(known) == 0 {
		return invalid("'%s' is not a field of this request, which has no fields", name)
	}
	return invalid("'%s' is not a field of this request. Its fields are: %s", name, strings.Join(known, ", "))
}

func printable(r rune) rune {
	if unicode.IsControl(r) {
		return utf8.RuneError
	}
	return r
}

var kindNouns = map[fieldKind]string{
	line: "a string", text: "a string", integer: "a whole number", boolean: "true or false", names: "an array of strings", files: "an array of objects", bodies: "an array of objects", guests: "an array of addresses, or of objects with an 'email'",
}

// said returns the name of the member in error messages.
func (f *field) said() string { return cmp.Or(f.path, f.name) }

func (f *field) missing() error   { return fault.Field(f.said(), "is required") }
func (f *field) mistyped() error  { return fault.Field(f.said(), "must be %s", kindNouns[f.kind]) }
func (f *field) twice() error     { return fault.Field(f.said(), "is given twice") }
func (f *field) malformed() error { return fault.Field(f.said(), "is not valid JSON text") }
func (f *field) unstorable() error {
	return fault.Field(f.said(), "cannot be stored: it contains an invalid escape, an unpaired surrogate or invalid UTF-8")
}

// checkText checks the length and the characters of a string.
func (f *field) checkText(s string, limit int) error {
	return fault.CheckText(f.said(), s, limit, f.kind != text)
}

func (f *field) checkNumber(n int64) error {
	if n < int64(f.min) {
		return fault.Field(f.said(), "is %d; it must be at least %d", n, f.min)
	}
	return nil
}

func (f *field) checkCount(n int) error {
	if n > f.max {
		return fault.Field(f.said(), "has too many entries (%d). The limit is %d", n, f.max)
	}
	return nil
}
