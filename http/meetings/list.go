package meetings

import (
	"time"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/webhook"
)

// AppendPage appends the meetings of a page, with commas between. It ends behind the first with which b is
// longer than most octets, and returns how many it appended.
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

// SizeOf is about how long the meetings of a page become, in bytes: what their rows hold, and the names of
// the members.
func SizeOf(all []*calendar.Meeting) (size int64) {
	for _, m := range all {
		size += m.Bytes + bareMeeting
	}
	return size
}

// bareMeeting is how long a meeting with times and without any text is, in bytes.
var bareMeeting = func() int64 {
	at := time.Unix(0, 0)
	m := &calendar.Meeting{CreatedAt: at, UpdatedAt: at}
	m.Start, m.End = at, at
	return int64(len(webhook.AppendMeeting(nil, m)))
}()
