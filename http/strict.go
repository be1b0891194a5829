package http

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"inboxd/internal/base/fault"
)

// bodyValues are the members of a decoded body, by name, with these Go types: string, int64, bool,
// []string, []values, []calendar.Guest. A null member counts as absent.
type bodyValues map[string]any

func (v bodyValues) textOf(name string) *string {
	s, given := v[name].(string)
	if !given {
		return nil
	}
	return &s
}

// stringOf returns the empty string if the member is absent.
func (v bodyValues) stringOf(name string) string {
	s, _ := v[name].(string)
	return s
}

func (v bodyValues) numberOf(name string) *int {
	n, given := v[name].(int64)
	if !given {
		return nil
	}
	i := int(n)
	return &i
}

func (v bodyValues) flagOr(name string, absent bool) bool {
	if b := v.boolOf(name); b != nil {
		return *b
	}
	return absent
}

func (v bodyValues) boolOf(name string) *bool {
	b, given := v[name].(bool)
	if !given {
		return nil
	}
	return &b
}

func (v bodyValues) listOf(name string) []string {
	l, _ := v[name].([]string)
	return l
}

// decodeBody parses a body strictly: it must be one JSON object that contains only members of the
// shape, each at most once and with its type. The result shares no memory with body. Nesting needs
// no limit, because only members of the shape are parsed, and their arrays contain strings or flat
// objects. An empty body counts as an empty object. Errors are faults of the kind Invalid.
func decodeBody(body []byte, s bodyShape) (bodyValues, error) {
	v := bodyValues{}
	if len(bytes.TrimSpace(body)) > 0 {
		d := bodyDecoder{jsontext.NewDecoder(bytes.NewReader(body)), s}
		if err := d.readObject(v); err != nil {
			return nil, err
		}
	}
	return v, s.checkRequired(v)
}

// checkRequired returns an error if a required member is missing.
func (s bodyShape) checkRequired(v bodyValues) error {
	for i := range s {
		if _, given := v[s[i].name]; s[i].isRequired && !given {
			return s[i].missingFault()
		}
	}
	return nil
}

type bodyDecoder struct {
	*jsontext.Decoder
	shape bodyShape
}

var errNotJSON = invalidFault("the body is not valid JSON")

// readObject parses the whole document.
func (d bodyDecoder) readObject(v bodyValues) error {
	switch kind := d.PeekKind(); {
	case kind == jsontext.KindInvalid:
		return errNotJSON
	case kind != jsontext.KindBeginObject:
		return invalidFault("the body must be a JSON object")
	}
	if err := d.readMembers(v); err != nil {
		return err
	}
	switch _, err := d.ReadToken(); {
	case err == io.EOF:
		return nil
	case err == nil:
		return invalidFault("the body contains more than one JSON document")
	}
	return errNotJSON
}

// readMembers parses one object. The caller has only peeked at its kind.
func (d bodyDecoder) readMembers(v bodyValues) error {
	d.ReadToken()
	for d.PeekKind() != jsontext.KindEndObject {
		f, err := d.readName()
		if err != nil {
			return err
		}
		if err := d.readMember(f, v); err != nil {
			return err
		}
	}
	d.ReadToken()
	return nil
}

// readName parses the name of a member and returns its field.
func (d bodyDecoder) readName() (*fieldRule, error) {
	token, err := d.ReadToken()
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax) && syntax.Err == jsontext.ErrDuplicateName:
		if f := d.shape.findField(syntax.JSONPointer.LastToken()); f != nil {
			return nil, f.twiceFault()
		}
		return nil, errNotJSON
	case err != nil:
		return nil, errNotJSON
	}
	name := token.String()
	if f := d.shape.findField(name); f != nil {
		return f, nil
	}
	return nil, d.shape.unknownMember(name)
}

// readMember parses one value into v.
func (d bodyDecoder) readMember(f *fieldRule, v bodyValues) (err error) {
	kind := d.PeekKind()
	if kind == jsontext.KindNull {
		_, err = d.ReadToken()
		return malformedValue(f, err)
	}
	switch f.valueKind {
	case lineField, textField:
		v[f.name], err = d.readText(f, f.maxLength)
	case integerField:
		v[f.name], err = d.readNumber(f)
	case booleanField:
		if kind != jsontext.KindTrue && kind != jsontext.KindFalse {
			return d.wrongType(f, kind)
		}
		_, err = d.ReadToken()
		v[f.name], err = kind == jsontext.KindTrue, malformedValue(f, err)
	case namesField:
		v[f.name], err = d.readList(f)
	case filesField:
		v[f.name], err = d.readFiles(f)
	case bodiesField:
		v[f.name], err = d.readBodies(f)
	case guestsField:
		v[f.name], err = d.readGuests(f)
	}
	return err
}

func (d bodyDecoder) readText(f *fieldRule, limit int) (string, error) {
	if kind := d.PeekKind(); kind != jsontext.KindString {
		return "", d.wrongType(f, kind)
	}
	token, err := d.ReadToken()
	if err != nil {
		return "", badString(f, err)
	}
	s := token.String()
	return s, f.checkText(s, limit)
}

// parseWhole parses a whole number: 24, or 24.0 from languages with only one number type, but not
// 2.4e1.
func parseWhole(s string) (int64, error) {
	if whole, fraction, has := strings.Cut(s, "."); has && fraction != "" && strings.Trim(fraction, "0") == "" {
		s = whole
	}
	return strconv.ParseInt(s, 10, 64)
}

// readNumber accepts only whole numbers.
func (d bodyDecoder) readNumber(f *fieldRule) (int64, error) {
	if kind := d.PeekKind(); kind != jsontext.KindNumber {
		return 0, d.wrongType(f, kind)
	}
	token, err := d.ReadToken()
	if err != nil {
		return 0, f.malformedFault()
	}
	n, err := parseWhole(token.String())
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fault.InvalidField(f.displayName(), "is out of range")
	case err != nil:
		return 0, f.mistyped()
	}
	return n, f.checkNumber(n)
}

func (d bodyDecoder) readList(f *fieldRule) ([]string, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginArray {
		return nil, d.wrongType(f, kind)
	}
	d.ReadToken()
	out := []string{}
	for d.PeekKind() != jsontext.KindEndArray {
		s, err := d.readText(f, cmp.Or(f.maxEntry, maxName))
		if err != nil {
			return nil, err
		}
		if out = append(out, s); len(out) > f.maxLength {
			return nil, f.checkCount(len(out))
		}
	}
	_, err := d.ReadToken()
	return out, malformedValue(f, err)
}

// readBodies returns the raw entries. There must be at least one.
func (d bodyDecoder) readBodies(f *fieldRule) ([]jsontext.Value, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginArray {
		return nil, d.wrongType(f, kind)
	}
	d.ReadToken()
	var out []jsontext.Value
	for d.PeekKind() != jsontext.KindEndArray {
		one, err := d.ReadValue()
		if err != nil {
			return nil, f.malformedFault()
		}
		if out = append(out, one.Clone()); len(out) > f.maxLength {
			return nil, f.checkCount(len(out))
		}
	}
	d.ReadToken()
	if len(out) == 0 {
		return nil, fault.InvalidField(f.displayName(), "must have at least one entry")
	}
	return out, nil
}

// wrongType returns the error for a value of another type, or for a missing value.
func (d bodyDecoder) wrongType(f *fieldRule, kind jsontext.Kind) error {
	if kind == jsontext.KindInvalid {
		return f.malformedFault()
	}
	return f.mistyped()
}

func malformedValue(f *fieldRule, err error) error {
	if err != nil {
		return f.malformedFault()
	}
	return nil
}

// badString returns the error for a string that cannot be stored, or for one without an end.
func badString(f *fieldRule, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return f.malformedFault()
	}
	return f.unstorable()
}
