package meetings

import (
	"time"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/webhook"
)

// AppendPage appends the meetings of a page, separated by commas. It stops after the meeting that
// makes b longer than most octets. It returns how many it appended.
func AppendPage(b []byte, all []*calendar.Meeting, most int) ([]byte, int) {
	for i, m := range all {
		if len(b) >= most {
			return b, i
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = webhook.AppendMeeting(b, m)
	}
	return b, len(all)
}

// SizeOf estimates the JSON size of a page of meetings, in bytes: their rows, and the names of the
// members.
func SizeOf(all []*calendar.Meeting) (size int64) {
	for _, m := range all {
		size += m.RowBytes + bareMeeting
	}
	return size
}

// bareMeeting is the JSON size of a meeting with times and without any text, in bytes.
var bareMeeting = func() int64 {
	at := time.Unix(0, 0)
	m := &calendar.Meeting{CreatedAt: at, UpdatedAt: at}
	m.Start, m.End = at, at
	return int64(len(webhook.AppendMeeting(nil, m)))
}()
