package text

import "strings"

// Class is what a word of the vocabulary means for the search.
type Class uint8

const (
	ClassNone     Class = iota
	ClassCode           // "code": says little unless the words around it say which code
	ClassPassword       // "password": a one-time one only with a classOnce word
	ClassPasscode       // "passcode", "access code": may also belong to a meeting or a door
	ClassOTP            // cannot mean anything else
	ClassApproval       // "authorization code": in a receipt it is the card terminal's
	ClassVerify         // verification, login, security
	ClassConfirm        // confirmation, access, activation: orders and bookings have them too
	ClassOnce           // one-time, temporary, dynamic
	ClassEnter          // enter, use, type
	ClassIs             // is, ist, es
	ClassOf             // de, of, der: joins "code" with the word that says which
	ClassOther          // order, invoice, phone, error: names a number that is no code
	ClassPromo          // coupon, discount, checkout
	ClassBooking        // reservation, flight
	ClassParcel         // parcel, courier: handed over against a code
	ClassMeeting        // meeting id, webinar
	ClassAccount        // account: may have a number, but codes are for it too
	ClassPlace          // street, suite: the line is an address
	ClassMoney          // currency, before or after its amount
	ClassUnit           // minutes, points: after a number
	ClassLongUnit       // days and more: a code does not last that long, a refund takes it
	ClassTimeUnit       // minutes, hours, days; a unit that also tells an expiry
	ClassPaper          // certificate, diploma: checked by a code of its own
	ClassBy             // with, by: joins "confirm" with the code
	ClassDigits         // digits, "-stellig": "the 6-digit code" is hardly a shop's
	ClassFresh          // new, following, unique: says nothing about the code behind it
	ClassExample        // "such as", "e.g."
	ClassStale          // old, previous, expired
	ClassSpoilt         // wrong, expired: said of a code that somebody entered
	ClassSecret         // "never share it", "if this wasn't you": said of one-time codes, hardly of others
	ClassNever          // "will never ask for": what follows is not announced
	ClassID             // "id", "no.": says that a noun is numbered
	ClassNumber         // "number": any number; "here": shows one
	ClassTo             // names a receiver
	ClassHarmless       // begins like a word of the vocabulary, but is none

	Classes = iota // how many there are
)

// ClassNames are the classes as the table names them, in order.
var ClassNames = strings.Fields(`none code password passcode otp approval verify confirm once enter is of other promo booking parcel meeting
	account place money unit long-unit time-unit paper by digits fresh example stale spoilt secret never id number to harmless`)

// Label tells whether a word of class c can announce a code.
func (c Class) Label() bool { return c >= ClassCode && c <= ClassApproval }

// Other tells whether a word of class c announces a number that is no code.
func (c Class) Other() bool { return c >= ClassOther && c <= ClassMeeting }

// Announcing are the words that announce a code, say to enter it, or speak of signing in, as bits of Page.Seen.
const Announcing = 1<<ClassCode | 1<<ClassPassword | 1<<ClassPasscode | 1<<ClassOTP | 1<<ClassApproval | 1<<ClassEnter | 1<<ClassVerify
