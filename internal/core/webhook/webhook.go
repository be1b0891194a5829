// Package webhook holds the rules of published events: their names, which events a subscription
// selects, the exact bytes of a body, its signature and the retry schedule. The bytes are the same
// for a webhook, a stream and a long poll. The package knows neither the subscribers' connections
// nor the store.
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

// Subscriptions that select more than one event name.
const (
	AllEvents   = "*" // includes events added later
	AllCalendar = calendarPrefix + "*"

	calendarPrefix = "calendar."
)

// Subscriptions returns what a webhook may subscribe to.
func Subscriptions() []string {
	return []string{
		MessageReceived, MessageDelivered, MessageFailed, MessageBounced,
		CalendarCreated, CalendarUpdated, CalendarCancelled, CalendarResponded, AllCalendar, AllEvents,
	}
}

// IsSubscription reports whether subscription is valid.
func IsSubscription(subscription string) bool { return slices.Contains(Subscriptions(), subscription) }

// MatchesEvent reports whether a subscription selects the event with this name.
func MatchesEvent(subscription, name string) bool {
	switch subscription {
	case AllEvents:
		return true
	case AllCalendar:
		return strings.HasPrefix(name, calendarPrefix)
	}
	return subscription == name
}
