package inbox

import (
	"fmt"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// Capacity limits the messages of an inbox, received and sent together. The zero value holds
// nothing.
type Capacity struct {
	MaxMessages int
	MaxBytes    int64
}

// CapacityOf is the capacity that a plan gives each inbox (specification, Plans).
func CapacityOf(plan account.Plan) Capacity { return Capacity{plan.MaxMessages, plan.MaxBytes} }

// CheckRoom reports whether one more message of size bytes fits: nil or an InboxFull fault. Expired
// messages that retention has not removed yet do not count. With KeepNewest, messages that may be
// removed do not count either.
func (s *State) CheckRoom(size int64, c Capacity, now time.Time) error {
	_, err := s.makeRoom(1, size, c, now)
	return err
}

// makeRoom returns the messages that must be removed for the given number of new messages, of size
// bytes together. While there is room it returns none. With KeepNewest it returns the oldest
// received messages, no more than needed. Sent messages are never removed for room, nor damaged
// ones, because their direction is unknown.
func (s *State) makeRoom(added int, size int64, c Capacity, now time.Time) (gone []*Message, err error) {
	if len(s.Messages)+added <= c.MaxMessages && s.Bytes+size <= c.MaxBytes {
		return nil, nil
	}
	n, bytes := added, size
	for _, m := range s.Messages {
		if !m.IsExpired(now) {
			n++
			bytes += m.Size
		}
	}
	for i := 0; s.KeepNewest && i < len(s.Messages) && (n > c.MaxMessages || bytes > c.MaxBytes); i++ {
		if m := s.Messages[i]; m.Direction == In && !m.IsDamaged && !m.IsExpired(now) {
			n--
			bytes -= m.Size
			gone = append(gone, m)
		}
	}
	if n > c.MaxMessages || bytes > c.MaxBytes {
		return nil, fault.New(fault.InboxFull, fmt.Sprintf("This inbox is full: its limits are %d messages and %d bytes. Delete messages, or set keep_newest", c.MaxMessages, c.MaxBytes))
	}
	return gone, nil
}

// withRemoval prepends the removal of gone to ev. Both are in one batch, so a crash leaves both or
// neither.
func withRemoval(gone []*Message, evs ...Event) []Event {
	if len(gone) == 0 {
		return evs
	}
	return append([]Event{messagesRemoved{gone}}, evs...)
}
