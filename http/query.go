package http

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"inboxd/http/search"
	"inboxd/internal/fault"
)

// maxQueryText bounds a text parameter, in code points.
const maxQueryText = 1000

// query reads the parameters of a request; err keeps the first bad one. Parameters that
// nobody asks for are ignored (specification, Order of checks).
type query struct {
	args *fasthttp.Args
	err  error
}

func (r *request) query() *query { return &query{args: r.http.QueryArgs()} }

// raw returns a copy of the parameter; absent and empty are the same.
func (q *query) raw(name string) string { return string(q.args.Peek(name)) }

func (q *query) bad(name, format string, args ...any) {
	if q.err == nil {
		q.err = fault.Field(name, format, args...)
	}
}

// number is between least and most, or absent.
func (q *query) number(name string, absent, least, most int64) int64 {
	s := q.raw(name)
	if s == "" {
		return absent
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		q.bad(name, "must be a whole number")
	case n < least || n > most:
		q.bad(name, "must be between %d and %d", least, most)
	}
	return n
}

func (q *query) flag(name string) bool {
	switch q.raw(name) {
	case "", "false", "0":
		return false
	case "true", "1":
		return true
	}
	q.bad(name, "must be true or false")
	return false
}

// text is folded, ready to be looked for in what is.
func (q *query) text(name string) string {
	s := q.raw(name)
	switch {
	case !utf8.ValidString(s):
		q.bad(name, "is not UTF-8")
	case utf8.RuneCountInString(s) > maxQueryText:
		q.bad(name, "is too long (%d characters). The limit is %d characters", utf8.RuneCountInString(s), maxQueryText)
	}
	return search.Fold(s)
}

// list splits a comma-separated parameter.
func (q *query) list(name string) []string {
	s := q.raw(name)
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func (q *query) choice(name, absent string, among ...string) string {
	s := q.raw(name)
	if s == "" {
		return absent
	}
	for _, one := range among {
		if s == one {
			return s
		}
	}
	q.bad(name, "must be one of %s", strings.Join(among, ", "))
	return absent
}

// parameter returns a path parameter, percent-decoded once; a bad escape stays as it is.
// The router matches the path as sent, so a decoded slash never moves a segment.
func parameter(c *fasthttp.RequestCtx, name string) string {
	raw, _ := c.UserValue(name).(string)
	decoded, err := url.PathUnescape(raw)
	if err != nil {
		decoded = raw
	}
	return strings.Clone(decoded)
}

// number reads an id of a path: a whole number above zero in its one decimal form.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}
