// Package calendars is what goes on about the calendars of inboxes beside their owners: the links
// under which they can be subscribed to, and the copies of meetings that go to the person behind an
// account. It refuses to know how inboxes run, how mail leaves, and what a calendar says.
package calendars
