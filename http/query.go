package http

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"inboxd/http/search"
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// maxQueryText bounds a text parameter, in code points.
const maxQueryText = 1000

// query reads the parameters of a request; err keeps the first bad one. Parameters that
// nobody asks for are ignored (specification, Order of checks).
type query struct {
	args *fasthttp.Args
	form *form // of the answer
	err  error
}

func (r *request) query() *query { return &query{args: r.http.QueryArgs(), form: r.form()} }

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
	n, err := parseWhole(s)
	switch {
	case err != nil:
		q.bad(name, "must be a whole number")
	case n < least || n > most:
		q.bad(name, "must be between %d and %d", least, most)
	}
	return n
}

// plusSigns reads a parameter that can't contain a space, an address or a time. A + that nobody
// escaped is decoded to a space, as in a form (WHATWG URL section 5.1).
func plusSigns(s string) string { return strings.ReplaceAll(s, " ", "+") }

// recipient is the envelope recipient that reads are narrowed to, by to= or by a tag in the path
// (specification, Messages); empty: none. One that can't be a recipient, or two that differ, is
// noRecipient.
func (q *query) recipient(r *request) string {
	given := plusSigns(q.raw("to"))
	if given == "" {
		return r.tagged
	}
	to, ok := address.Inbox(given)
	if !ok || r.tagged != "" && r.tagged != to {
		return noRecipient
	}
	return to
}

// noRecipient is nobody's address.
const noRecipient = "@"

// moment is an ISO 8601 instant with an offset, or a date, which begins in UTC; zero: absent.
func (q *query) moment(name string) time.Time {
	s := plusSigns(q.raw(name))
	if s == "" {
		return time.Time{}
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, s); err == nil {
			return at
		}
	}
	q.bad(name, "must be an ISO 8601 time with an offset, like 2026-11-22T09:30:00Z, or a date")
	return time.Time{}
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
func (q *query) text(name string) string { return search.Fold(q.words(name)) }

// words are as they were given, and not too many.
func (q *query) words(name string) string {
	s := q.raw(name)
	switch {
	case !utf8.ValidString(s):
		q.bad(name, "is not UTF-8")
	case utf8.RuneCountInString(s) > maxQueryText:
		q.bad(name, "is too long (%d characters). The limit is %d characters", utf8.RuneCountInString(s), maxQueryText)
	}
	return s
}

// sender says which addresses of senders are asked for: the zero sender, any. Names that are shown with
// addresses do not count: everybody chooses theirs freely.
type sender struct {
	address string // exactly this one, as foldAddress gives it
	domain  string // exactly this one
	part    string // part of the address, folded
}

// sender reads a parameter that holds an address, @domain or part of an address.
func (q *query) sender(name string) sender {
	given := plusSigns(strings.TrimSpace(q.words(name)))
	local, host := address.Split(given)
	switch {
	case given == "":
		return sender{}
	case host == "" || !strings.Contains(given, "@"):
		return sender{part: search.Fold(given)}
	case local == "":
		return sender{domain: foldDomain(host)}
	}
	return sender{address: foldAddress(given)}
}

// matches reports whether an address, as search.Fold gives it, is one of those asked for.
func (s sender) matches(from string) bool {
	switch {
	case s.address != "":
		return foldAddress(from) == s.address
	case s.domain != "":
		return strings.Contains(from, "@") && foldDomain(address.DomainOf(from)) == s.domain
	}
	return strings.Contains(from, s.part)
}

// foldAddress gives the spellings of an address one form: the local part's, tags included, in NFC whatever
// the case, and the domain's A-labels.
func foldAddress(s string) string {
	local, host := address.Split(s)
	return search.Fold(local) + "@" + foldDomain(host)
}

func foldDomain(s string) string {
	if host, ok := address.Host(s); ok {
		return host
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

// direction is which messages are asked for: received ones, sent ones or all.
type direction string

const (
	received direction = "in"
	sent     direction = "out"
	both     direction = "all"
)

func (q *query) direction() direction {
	return direction(q.choice("direction", string(received), string(received), string(sent), string(both)))
}

func (d direction) takes(m *inbox.Message) bool {
	return d == both || (d == sent) == (m.Direction == inbox.Out)
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

var (
	headerAcceptEncoding  = []byte("Accept-Encoding")
	headerContentEncoding = []byte("Content-Encoding")
	codingIdentity        = []byte("identity")
)

// accepts reports whether Accept or Accept-Encoding names a value, given in lower case, with a weight above
// zero (RFC 9110 sections 12.4.2, 12.5.1 and 12.5.3). Ranges with a * do not count: they express no
// preference for it.
func accepts(h *fasthttp.RequestHeader, field []byte, wanted string) bool {
	for _, line := range h.PeekAll(string(field)) {
		for one := range strings.SplitSeq(strings.ToLower(string(line)), ",") {
			name, parameters, _ := strings.Cut(one, ";")
			if strings.TrimSpace(name) == wanted && !isUnacceptable(parameters) {
				return true
			}
		}
	}
	return false
}

// isUnacceptable finds a weight of zero among the parameters, which are in lower case.
func isUnacceptable(parameters string) bool {
	for one := range strings.SplitSeq(parameters, ";") {
		if weight, is := strings.CutPrefix(strings.TrimSpace(one), "q="); is {
			n, err := strconv.ParseFloat(weight, 64)
			return err == nil && n == 0
		}
	}
	return false
}

// checkCoding refuses a body in a content coding (RFC 9110 section 8.4).
func checkCoding(r *fasthttp.Request) error {
	if len(r.Body()) == 0 {
		return nil
	}
	for _, line := range r.Header.PeekAll(string(headerContentEncoding)) {
		for coding := range strings.SplitSeq(string(line), ",") {
			coding = strings.TrimSpace(coding)
			if coding != "" && !strings.EqualFold(coding, string(codingIdentity)) {
				return fault.New(fault.Unsupported, fmt.Sprintf("The content coding %.*q is not supported. Send the body without Content-Encoding", maxName, coding))
			}
		}
	}
	return nil
}

// A cursor is a position in an account's change journal: a version byte, the number of the
// last event before it (8 bytes), and four bytes that tie both to the account, in base64.
// It means the same after any restart.
const (
	cursorVersion = 1
	cursorSum     = 4
	cursorBytes   = 1 + 8 + cursorSum
)

func appendCursor(dst []byte, id account.ID, seq uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, seq)
	b = append(b, cursorCheck(id, b)...)
	return base64.RawURLEncoding.AppendEncode(dst, b)
}

// parseCursor reads a cursor that this service gave to the account. There is one spelling of each: decoding
// passes over the ends of lines.
func parseCursor(id account.ID, cursor string) (seq uint64, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) != cursorBytes || cursor != base64.RawURLEncoding.EncodeToString(b) || b[0] != cursorVersion {
		return 0, false
	}
	head, sum := b[:cursorBytes-cursorSum], b[cursorBytes-cursorSum:]
	return binary.BigEndian.Uint64(head[1:]), string(sum) == string(cursorCheck(id, head))
}

func cursorCheck(id account.ID, head []byte) []byte {
	sum := sha256.Sum256(append(append(make([]byte, 0, 32), id[:]...), head...))
	return sum[:cursorSum]
}

// place is where a message stands among those of all inboxes: newest first.
type place struct {
	at      int64 // Unix milliseconds
	address string
	id      int64
}

// compare orders places as they are shown.
func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(q.at, p.at), cmp.Compare(p.address, q.address), cmp.Compare(q.id, p.id))
}

// notACursor is of a list that goes on from next_cursor.
const notACursor = "is not a valid cursor of this list. Use 'next_cursor' of the previous page"

func (p place) cursor() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.at))
	b = binary.BigEndian.AppendUint64(b, uint64(p.id))
	return base64.RawURLEncoding.EncodeToString(append(b, p.address...))
}

// place reads a cursor; absent, it is before everything.
func (q *query) place(name string) place {
	given := q.raw(name)
	if given == "" {
		return place{at: math.MaxInt64}
	}
	b, err := base64.RawURLEncoding.DecodeString(given)
	if err != nil || len(b) < 17 {
		q.bad(name, notACursor)
		return place{}
	}
	return place{int64(binary.BigEndian.Uint64(b)), string(b[16:]), int64(binary.BigEndian.Uint64(b[8:]))}
}
