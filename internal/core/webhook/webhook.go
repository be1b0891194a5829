// Package webhook holds what the outside is told of an event: the names events have, which
// of them a subscription means, and the exact bytes of a body. The bytes are the same
// wherever they go, to a webhook, a stream or a long poll. It refuses to know who listens,
// over what, and when it is tried again.
package webhook

import (
	"slices"
	"strings"
)

// Wire names of events (specification, Events).
const (
	MessageReceived   = "message.received"
	MessageDelivered  = "message.delivered"
	MessageFailed     = "message.failed"
	MessageBounced    = "message.bounced"
	CalendarCreated   = "calendar.event.created"
	CalendarUpdated   = "calendar.event.updated"
	CalendarCancelled = "calendar.event.cancelled"
	CalendarResponded = "calendar.attendee.responded"
)

// Subscriptions that mean more than one name.
const (
	Everything  = "*" // events added later too
	AllCalendar = calendarPrefix + "*"

	calendarPrefix = "calendar."
)

// Subscriptions returns what a webhook may subscribe to.
func Subscriptions() []string {
	return []string{
		MessageReceived, MessageDelivered, MessageFailed, MessageBounced,
		CalendarCreated, CalendarUpdated, CalendarCancelled, CalendarResponded, AllCalendar, Everything,
	}
}

// Known reports whether a webhook may subscribe to this.
func Known(subscription string) bool { return slices.Contains(Subscriptions(), subscription) }

// Matches reports whether a subscription means the event with this name.
func Matches(subscription, name string) bool {
	switch subscription {
	case Everything:
		return true
	case AllCalendar:
		return strings.HasPrefix(name, calendarPrefix)
	}
	return subscription == name
}
