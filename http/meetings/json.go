// Package meetings is how an inbox's meetings look to clients: members in JSON, pages of a list, and
// the text of the feed, which is kept while it is followed. It knows meetings; it refuses to know
// requests, credentials and where a calendar is stored.
package meetings

import (
	"strconv"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/webhook"
)

// Single appends a meeting as a read of it answers: under event, and the same members beside it
// (specification, Calendar). conflicts are ids; nil: it is over, and has none to name.
func Single(b []byte, m *calendar.Meeting, conflicts []int64) []byte {
	one := webhook.AppendMeeting(nil, m)
	if conflicts != nil {
		one = append(one[:len(one)-1], `,"conflicts":[`...)
		for i, id := range conflicts {
			if i > 0 {
				one = append(one, ',')
			}
			one = strconv.AppendInt(one, id, 10)
		}
		one = append(one, "]}"...)
	}
	b = append(append(b, `{"event":`...), one...)
	return append(append(b, ','), one[1:]...)
}

// Arranged is what is told of an order that was done.
func Arranged(d calendar.Done) []byte {
	b := webhook.AppendMeeting([]byte(`{"ok":true,"event":`), d.Meeting)
	b = append(b, `,"message_id":`...)
	if d.MessageID == 0 {
		return append(b, `null,"send_status":null}`...)
	}
	return append(strconv.AppendInt(b, d.MessageID, 10), `,"send_status":"queued"}`...)
}
