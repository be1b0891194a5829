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

// queryReader parses the parameters of a request. err holds the first error. Unknown parameters are
// ignored (specification, Order of checks).
type queryReader struct {
	args         *fasthttp.Args
	responseForm *responseForm // of the response
	firstErr     error
}

func (r *apiRequest) queryReader() *queryReader {
	return &queryReader{args: r.httpCtx.QueryArgs(), responseForm: r.responseForm()}
}

// rawValue returns a copy of the parameter. An absent parameter equals an empty one.
func (q *queryReader) rawValue(name string) string { return string(q.args.Peek(name)) }

func (q *queryReader) rejectParameter(name, format string, args ...any) {
	if q.firstErr == nil {
		q.firstErr = fault.InvalidField(name, format, args...)
	}
}

// readNumber returns a number between least and most, or absent if the parameter is missing.
func (q *queryReader) readNumber(name string, absent, least, most int64) int64 {
	s := q.rawValue(name)
	if s == "" {
		return absent
	}
	n, err := parseWhole(s)
	switch {
	case err != nil:
		q.rejectParameter(name, "must be a whole number")
	case n < least || n > most:
		q.rejectParameter(name, "must be between %d and %d", least, most)
	}
	return n
}

// plusSigns restores plus signs in a parameter that cannot contain a space, such as an address or a
// time. A + that was not escaped is decoded to a space, as in a form (WHATWG URL section 5.1).
func plusSigns(s string) string { return strings.ReplaceAll(s, " ", "+") }

// readRecipient returns the envelope recipient that a read is limited to, by to= or by a tag in the
// path (specification, Messages); empty means no limit. An invalid recipient, or two different
// ones, give noRecipient.
func (q *queryReader) readRecipient(r *apiRequest) string {
	given := plusSigns(q.rawValue("to"))
	if given == "" {
		return r.taggedAddress
	}
	to, ok := address.CanonicalInbox(given)
	if !ok || r.taggedAddress != "" && r.taggedAddress != to {
		return noRecipient
	}
	return to
}

// noRecipient matches no address.
const noRecipient = "@"

// readTime returns an ISO 8601 time with an offset, or a date, which means its start in UTC. Zero:
// absent.
func (q *queryReader) readTime(name string) time.Time {
	s := plusSigns(q.rawValue(name))
	if s == "" {
		return time.Time{}
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, s); err == nil {
			return at
		}
	}
	q.rejectParameter(name, "must be an ISO 8601 time with an offset, like 2026-11-22T09:30:00Z, or a date")
	return time.Time{}
}

func (q *queryReader) readFlag(name string) bool {
	switch q.rawValue(name) {
	case "", "false", "0":
		return false
	case "true", "1":
		return true
	}
	q.rejectParameter(name, "must be true or false")
	return false
}

// readFolded returns the parameter folded, for comparison with folded text.
func (q *queryReader) readFolded(name string) string { return search.FoldText(q.readWords(name)) }

// readWords returns the parameter unchanged, after checking its length.
func (q *queryReader) readWords(name string) string {
	s := q.rawValue(name)
	switch {
	case !utf8.ValidString(s):
		q.rejectParameter(name, "is not UTF-8")
	case utf8.RuneCountInString(s) > maxQueryText:
		q.rejectParameter(name, "is too long (%d characters). The limit is %d characters", utf8.RuneCountInString(s), maxQueryText)
	}
	return s
}

// senderFilter is a filter for sender addresses. The zero sender matches every address. Display
// names are not compared, because senders choose them freely.
type senderFilter struct {
	exactAddress string // exactly this address, in the form of foldAddress
	exactDomain  string // exactly this domain
	addressPart  string // part of the address, folded
}

// readSender parses a parameter that is an address, @domain or part of an address.
func (q *queryReader) readSender(name string) senderFilter {
	given := plusSigns(strings.TrimSpace(q.readWords(name)))
	local, host := address.Split(given)
	switch {
	case given == "":
		return senderFilter{}
	case host == "" || !strings.Contains(given, "@"):
		return senderFilter{addressPart: search.FoldText(given)}
	case local == "":
		return senderFilter{exactDomain: foldDomain(host)}
	}
	return senderFilter{exactAddress: foldAddress(given)}
}

// matchesAddress reports whether an address, folded by search.FoldText, matches the filter.
func (s senderFilter) matchesAddress(from string) bool {
	switch {
	case s.exactAddress != "":
		return foldAddress(from) == s.exactAddress
	case s.exactDomain != "":
		return strings.Contains(from, "@") && foldDomain(address.DomainOf(from)) == s.exactDomain
	}
	return strings.Contains(from, s.addressPart)
}

// foldAddress normalizes an address: it case-folds the local part with its tags in NFC, and
// converts the domain to A-labels.
func foldAddress(s string) string {
	local, host := address.Split(s)
	return search.FoldText(local) + "@" + foldDomain(host)
}

func foldDomain(s string) string {
	if host, ok := address.CanonicalHost(s); ok {
		return host
	}
	return search.FoldText(s)
}

// readList splits a comma-separated parameter.
func (q *queryReader) readList(name string) []string {
	s := q.rawValue(name)
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func (q *queryReader) readChoice(name, absent string, among ...string) string {
	s := q.rawValue(name)
	if s == "" {
		return absent
	}
	for _, one := range among {
		if s == one {
			return s
		}
	}
	q.rejectParameter(name, "must be one of %s", strings.Join(among, ", "))
	return absent
}

// messageDirection selects messages: received, sent or all.
type messageDirection string

const (
	receivedOnly   messageDirection = "in"
	sentOnly       messageDirection = "out"
	bothDirections messageDirection = "all"
)

func (q *queryReader) readDirection() messageDirection {
	return messageDirection(q.readChoice("direction", string(receivedOnly), string(receivedOnly), string(sentOnly), string(bothDirections)))
}

func (d messageDirection) matchesMessage(m *inbox.Message) bool {
	return d == bothDirections || (d == sentOnly) == (m.Direction == inbox.Out)
}

// pathParameter returns a path parameter, percent-decoded once. An invalid escape stays unchanged. The
// router matches the path before decoding, so a decoded slash never changes the segments.
func pathParameter(c *fasthttp.RequestCtx, name string) string {
	raw, _ := c.UserValue(name).(string)
	decoded, err := url.PathUnescape(raw)
	if err != nil {
		decoded = raw
	}
	return strings.Clone(decoded)
}

// parseID parses an id in a path: a positive whole number in its canonical decimal form.
func parseID(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}

var (
	headerAcceptEncoding  = []byte("Accept-Encoding")
	headerContentEncoding = []byte("Content-Encoding")
	codingIdentity        = []byte("identity")
)

// acceptsValue reports whether Accept or Accept-Encoding lists a value, given in lower case, with a
// weight above zero (RFC 9110 sections 12.4.2, 12.5.1 and 12.5.3). Wildcards do not count, because
// they express no preference.
func acceptsValue(h *fasthttp.RequestHeader, field []byte, wanted string) bool {
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

// isUnacceptable reports whether the parameters, which are in lower case, contain a weight of zero.
func isUnacceptable(parameters string) bool {
	for one := range strings.SplitSeq(parameters, ";") {
		if weight, is := strings.CutPrefix(strings.TrimSpace(one), "q="); is {
			n, err := strconv.ParseFloat(weight, 64)
			return err == nil && n == 0
		}
	}
	return false
}

// checkCoding refuses a body with a content coding (RFC 9110 section 8.4).
func checkCoding(r *fasthttp.Request) error {
	if len(r.Body()) == 0 {
		return nil
	}
	for _, line := range r.Header.PeekAll(string(headerContentEncoding)) {
		for coding := range strings.SplitSeq(string(line), ",") {
			coding = strings.TrimSpace(coding)
			if coding != "" && !strings.EqualFold(coding, string(codingIdentity)) {
				return fault.New(fault.UnsupportedContent, fmt.Sprintf("The content coding %.*q is not supported. Send the body without Content-Encoding", maxName, coding))
			}
		}
	}
	return nil
}

// A cursor is a position in an account's change journal: a version byte, the number of the last
// event before it (8 bytes), and a checksum of four bytes that binds both to the account, in
// base64. It keeps its meaning after a restart.
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

// parseCursor parses a cursor that this service gave to the account. Only the canonical encoding is
// accepted, because the decoder ignores line breaks.
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

// messagePlace is the position of a message in the list over all inboxes, which is newest first.
type messagePlace struct {
	at           int64 // Unix milliseconds
	inboxAddress string
	id           int64
}

// compareTo orders places as the list shows them.
func (p messagePlace) compareTo(q messagePlace) int {
	return cmp.Or(cmp.Compare(q.at, p.at), cmp.Compare(p.inboxAddress, q.inboxAddress), cmp.Compare(q.id, p.id))
}

// notACursor is the error for lists that continue with next_cursor.
const notACursor = "is not a valid cursor of this list. Use 'next_cursor' of the previous page"

func (p messagePlace) encodeCursor() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.at))
	b = binary.BigEndian.AppendUint64(b, uint64(p.id))
	return base64.RawURLEncoding.EncodeToString(append(b, p.inboxAddress...))
}

// readPlace parses a cursor. An absent cursor is the start of the list.
func (q *queryReader) readPlace(name string) messagePlace {
	given := q.rawValue(name)
	if given == "" {
		return messagePlace{at: math.MaxInt64}
	}
	b, err := base64.RawURLEncoding.DecodeString(given)
	if err != nil || len(b) < 17 {
		q.rejectParameter(name, notACursor)
		return messagePlace{}
	}
	return messagePlace{int64(binary.BigEndian.Uint64(b)), string(b[16:]), int64(binary.BigEndian.Uint64(b[8:]))}
}
