package mailauth

import (
	"encoding/base64"
	"strings"
)

// tag is one name=value of RFC 6376 section 3.2, without the surrounding whitespace.
type tag struct{ name, value string }

// tagList is a tag list in its order.
type tagList []tag

// parseTags parses a tag list; false if it is invalid or contains a tag twice.
func parseTags(s string) (tagList, bool) {
	list := make(tagList, 0, 12)
	for s != "" {
		var one string
		one, s, _ = strings.Cut(s, ";")
		name, value, ok := strings.Cut(one, "=")
		name = strings.Trim(name, fws)
		if !ok || name == "" {
			if strings.Trim(one, fws) == "" && s == "" {
				break // after the last semicolon
			}
			return nil, false
		}
		if _, twice := list.get(name); twice || len(list) == 64 {
			return nil, false
		}
		list = append(list, tag{name, strings.Trim(value, fws)})
	}
	return list, true
}

const fws = " \t\r\n"

func (l tagList) get(name string) (string, bool) {
	for i := range l {
		if l[i].name == name {
			return l[i].value, true
		}
	}
	return "", false
}

// lowerValue returns a value for case-insensitive comparison; fallback if it is absent.
func (l tagList) lowerValue(name, fallback string) string {
	if v, ok := l.get(name); ok {
		return strings.ToLower(v)
	}
	return fallback
}

// splitValue returns the parts of a value between colons.
func (l tagList) splitValue(name string) []string {
	v, ok := l.get(name)
	if !ok {
		return nil
	}
	parts := strings.SplitN(v, ":", maxSigned+1)
	for i := range parts {
		parts[i] = strings.Trim(parts[i], fws)
	}
	return parts
}

// base64 decodes a value that may be folded.
func (l tagList) base64(name string) ([]byte, bool) {
	v, _ := l.get(name)
	if strings.ContainsAny(v, fws) {
		v = strings.Join(strings.Fields(v), "")
	}
	b, err := base64.StdEncoding.DecodeString(v)
	return b, err == nil && len(b) > 0
}
