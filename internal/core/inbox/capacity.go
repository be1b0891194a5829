package inbox

import (
	"fmt"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// Capacity is how much mail an inbox may hold, received and sent together. The zero one holds
// nothing.
type Capacity struct {
	Messages int
	Bytes    int64
}

// CapacityOf is what a plan gives each inbox (specification, Plans).
func CapacityOf(plan account.Plan) Capacity { return Capacity{plan.MaxMessages, plan.MaxBytes} }

// Room reports whether one more mail of size bytes would be taken: nil or an InboxFull fault.
// Expired messages that retention has not reached yet do not count. With KeepNewest what may go
// does not count either.
func (s *State) Room(size int64, c Capacity, now time.Time) error {
	_, err := s.makeRoom(1, size, c, now)
	return err
}

// makeRoom returns what has to go for so many mails more, of size bytes together: nothing while there is room,
// and with KeepNewest the oldest received mail, no more of it than need be. Sent mail never
// goes, nor what is damaged: nobody knows what it was.
func (s *State) makeRoom(mails int, size int64, c Capacity, now time.Time) (gone []*Message, err error) {
	if len(s.Messages)+mails <= c.Messages && s.Bytes+size <= c.Bytes {
		return nil, nil
	}
	n, bytes := mails, size
	for _, m := range s.Messages {
		if !m.Expired(now) {
			n++
			bytes += m.Size
		}
	}
	for i := 0; s.KeepNewest && i < len(s.Messages) && (n > c.Messages || bytes > c.Bytes); i++ {
		if m := s.Messages[i]; m.Direction == In && !m.Damaged && !m.Expired(now) {
			n--
			bytes -= m.Size
			gone = append(gone, m)
		}
	}
	if n > c.Messages || bytes > c.Bytes {
		return nil, fault.New(fault.InboxFull, fmt.Sprintf("This inbox is full: it may hold %d messages of %d bytes together", c.Messages, c.Bytes))
	}
	return gone, nil
}

// instead is ev for which others go: in one batch, so that a crash leaves both or neither.
func instead(gone []*Message, evs ...Event) []Event {
	if len(gone) == 0 {
		return evs
	}
	return append([]Event{removed{gone}}, evs...)
}
