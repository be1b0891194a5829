// Package meetings renders the meetings of an inbox for clients: members in JSON, pages of a list,
// and the text of a subscribed feed, which it caches. It knows meetings. It does not know requests,
// credentials or where a calendar is stored.
package meetings

import (
	"strconv"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/webhook"
)

// AppendMeeting appends the response to the read of one meeting: the meeting under "event", and its
// members again at the top level (specification, Calendar). conflicts are ids; nil: the meeting is
// over, so the member is omitted.
func AppendMeeting(b []byte, m *calendar.Meeting, conflicts []int64) []byte {
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

// MarshalArranged returns the response to an order that was carried out.
func MarshalArranged(d calendar.ChangeResult) []byte {
	b := webhook.AppendMeeting([]byte(`{"ok":true,"event":`), d.Meeting)
	b = append(b, `,"message_id":`...)
	if d.MessageID == 0 {
		return append(b, `null,"send_status":null}`...)
	}
	return append(strconv.AppendInt(b, d.MessageID, 10), `,"send_status":"queued"}`...)
}
