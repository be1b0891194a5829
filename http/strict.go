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

// values are the members of a decoded body, by name, with these Go types: string, int64, bool,
// []string, []values, []calendar.Guest. A null member counts as absent.
type values map[string]any

func (v values) text(name string) *string {
	s, given := v[name].(string)
	if !given {
		return nil
	}
	return &s
}

// string returns the empty string if the member is absent.
func (v values) string(name string) string {
	s, _ := v[name].(string)
	return s
}

func (v values) number(name string) *int {
	n, given := v[name].(int64)
	if !given {
		return nil
	}
	i := int(n)
	return &i
}

func (v values) flag(name string, absent bool) bool {
	if b := v.truth(name); b != nil {
		return *b
	}
	return absent
}

func (v values) truth(name string) *bool {
	b, given := v[name].(bool)
	if !given {
		return nil
	}
	return &b
}

func (v values) list(name string) []string {
	l, _ := v[name].([]string)
	return l
}

// decode parses a body strictly: it must be one JSON object that contains only members of the
// shape, each at most once and with its type. The result shares no memory with body. Nesting needs
// no limit, because only members of the shape are parsed, and their arrays contain strings or flat
// objects. An empty body counts as an empty object. Errors are faults of the kind Invalid.
func decode(body []byte, s shape) (values, error) {
	v := values{}
	if len(bytes.TrimSpace(body)) > 0 {
		d := decoder{jsontext.NewDecoder(bytes.NewReader(body)), s}
		if err := d.object(v); err != nil {
			return nil, err
		}
	}
	return v, s.complete(v)
}

// complete returns an error if a required member is missing.
func (s shape) complete(v values) error {
	for i := range s {
		if _, given := v[s[i].name]; s[i].required && !given {
			return s[i].missing()
		}
	}
	return nil
}

type decoder struct {
	*jsontext.Decoder
	shape shape
}

var errNotJSON = invalid("the body is not valid JSON")

// object parses the whole document.
func (d decoder) object(v values) error {
	switch kind := d.PeekKind(); {
	case kind == jsontext.KindInvalid:
		return errNotJSON
	case kind != jsontext.KindBeginObject:
		return invalid("the body must be a JSON object")
	}
	if err := d.members(v); err != nil {
		return err
	}
	switch _, err := d.ReadToken(); {
	case err == io.EOF:
		return nil
	case err == nil:
		return invalid("the body contains more than one JSON document")
	}
	return errNotJSON
}

// members parses one object. The caller has only peeked at its kind.
func (d decoder) members(v values) error {
	d.ReadToken()
	for d.PeekKind() != jsontext.KindEndObject {
		f, err := d.name()
		if err != nil {
			return err
		}
		if err := d.member(f, v); err != nil {
			return err
		}
	}
	d.ReadToken()
	return nil
}

// name parses the name of a member and returns its field.
func (d decoder) name() (*field, error) {
	token, err := d.ReadToken()
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax) && syntax.Err == jsontext.ErrDuplicateName:
		if f := d.shape.find(syntax.JSONPointer.LastToken()); f != nil {
			return nil, f.twice()
		}
		return nil, errNotJSON
	case err != nil:
		return nil, errNotJSON
	}
	name := token.String()
	if f := d.shape.find(name); f != nil {
		return f, nil
	}
	return nil, d.shape.unknown(name)
}

// member parses one value into v.
func (d decoder) member(f *field, v values) (err error) {
	kind := d.PeekKind()
	if kind == jsontext.KindNull {
		_, err = d.ReadToken()
		return malformed(f, err)
	}
	switch f.kind {
	case line, text:
		v[f.name], err = d.text(f, f.max)
	case integer:
		v[f.name], err = d.number(f)
	case boolean:
		if kind != jsontext.KindTrue && kind != jsontext.KindFalse {
			return d.other(f, kind)
		}
		_, err = d.ReadToken()
		v[f.name], err = kind == jsontext.KindTrue, malformed(f, err)
	case names:
		v[f.name], err = d.list(f)
	case files:
		v[f.name], err = d.files(f)
	case bodies:
		v[f.name], err = d.bodies(f)
	case guests:
		v[f.name], err = d.guests(f)
	}
	return err
}

func (d decoder) text(f *field, limit int) (string, error) {
	if kind := d.PeekKind(); kind != jsontext.KindString {
		return "", d.other(f, kind)
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

// number accepts only whole numbers.
func (d decoder) number(f *field) (int64, error) {
	if kind := d.PeekKind(); kind != jsontext.KindNumber {
		return 0, d.other(f, kind)
	}
	token, err := d.ReadToken()
	if err != nil {
		return 0, f.malformed()
	}
	n, err := parseWhole(token.String())
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fault.Field(f.said(), "is out of range")
	case err != nil:
		return 0, f.mistyped()
	}
	return n, f.checkNumber(n)
}

func (d decoder) list(f *field) ([]string, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginArray {
		return nil, d.other(f, kind)
	}
	d.ReadToken()
	out := []string{}
	for d.PeekKind() != jsontext.KindEndArray {
		s, err := d.text(f, cmp.Or(f.each, maxName))
		if err != nil {
			return nil, err
		}
		if out = append(out, s); len(out) > f.max {
			return nil, f.checkCount(len(out))
		}
	}
	_, err := d.ReadToken()
	return out, malformed(f, err)
}

// bodies returns the raw entries. There must be at least one.
func (d decoder) bodies(f *field) ([]jsontext.Value, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginArray {
		return nil, d.other(f, kind)
	}
	d.ReadToken()
	var out []jsontext.Value
	for d.PeekKind() != jsontext.KindEndArray {
		one, err := d.ReadValue()
		if err != nil {
			return nil, f.malformed()
		}
		if out = append(out, one.Clone()); len(out) > f.max {
			return nil, f.checkCount(len(out))
		}
	}
	d.ReadToken()
	if len(out) == 0 {
		return nil, fault.Field(f.said(), "must have at least one entry")
	}
	return out, nil
}

// other returns the error for a value of another type, or for a missing value.
func (d decoder) other(f *field, kind jsontext.Kind) error {
	if kind == jsontext.KindInvalid {
		return f.malformed()
	}
	return f.mistyped()
}

func malformed(f *field, err error) error {
	if err != nil {
		return f.malformed()
	}
	return nil
}

// badString returns the error for a string that cannot be stored, or for one without an end.
func badString(f *field, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return f.malformed()
	}
	return f.unstorable()
}
