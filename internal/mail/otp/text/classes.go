package text

import "strings"

// Class is the meaning of a word of the vocabulary for the search.
type Class uint8

// The classes. Their order matters: Label and IsOther are ranges, and package otp uses the classes as
// signs.
const (
	ClassNone     Class = iota
	ClassCode           // "code": says little unless the words around it say which code
	ClassPassword       // "password": a one-time code only together with a word of ClassOnce
	ClassPasscode       // "passcode", "access code": may also belong to a meeting or a door
	ClassOTP            // "OTP": always means a one-time code
	ClassApproval       // "authorization code": in a receipt it is the card terminal's
	ClassVerify         // verification, login, security
	ClassConfirm        // confirmation, access, activation: orders and bookings also have them
	ClassOnce           // one-time, temporary, dynamic
	ClassEnter          // enter, use, type
	ClassIs             // is, ist, es
	ClassOf             // de, of, der: joins "code" with the word that says which
	ClassOther          // order, invoice, phone, error: announces a number that is not a code
	ClassPromo          // coupon, discount, checkout
	ClassBooking        // reservation, flight
	ClassParcel         // parcel, courier: delivered against a code
	ClassMeeting        // meeting id, webinar
	ClassAccount        // account: may have a number, but codes are also for accounts
	ClassPlace          // street, suite: the line is an address
	ClassMoney          // currency, before or after its amount
	ClassUnit           // minutes, points: after a number
	ClassLongUnit       // days and more: too long for the validity of a code
	ClassTimeUnit       // minutes, hours: a unit in which the validity of a code is given
	ClassPaper          // certificate, diploma: has a verification code of its own
	ClassBy             // with, by: joins "confirm" with the code
	ClassDigits         // digits, "-stellig": "the 6-digit code" is rarely the code of a shop
	ClassFresh          // new, following, unique: says nothing about the code behind it
	ClassExample        // "such as", "e.g."
	ClassStale          // old, previous, expired
	ClassSpoilt         // wrong, expired: describes a code that somebody entered
	ClassSecret         // "never share it", "if this wasn't you": common for one-time codes, rare for others
	ClassNever          // "will never ask for": the words behind it do not announce a code
	ClassID             // "id", "no.": the noun next to it has a number
	ClassNumber         // "number": any number; "here": points to one
	ClassTo             // "to": a recipient follows
	ClassHarmless       // an exception: begins like a word of the vocabulary, but has another meaning

	ClassCount = iota // number of classes
)

// ClassNames are the names of the classes in vocabulary.tsv; ClassNames[c] is class c.
var ClassNames = strings.Fields(`none code password passcode otp approval verify confirm once enter is of other promo booking parcel meeting
	account place money unit long-unit time-unit paper by digits fresh example stale spoilt secret never id number to harmless`)

// IsLabel reports whether a word of class c can announce a code.
func (c Class) IsLabel() bool { return c >= ClassCode && c <= ClassApproval }

// IsOther reports whether a word of class c announces a number that is not a code.
func (c Class) IsOther() bool { return c >= ClassOther && c <= ClassMeeting }

// AnnouncingClasses are the classes that announce a code, ask to enter it, or are about signing in, as
// bits of Page.SeenClasses.
const AnnouncingClasses = 1<<ClassCode | 1<<ClassPassword | 1<<ClassPasscode | 1<<ClassOTP | 1<<ClassApproval | 1<<ClassEnter | 1<<ClassVerify
