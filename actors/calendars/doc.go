// Package calendars handles what concerns inbox calendars outside their owners' actors:
// subscription links, and the copies of meetings that go to the account's owner. It does not know
// how inboxes run, how messages are sent, or what a calendar contains.
package calendars
