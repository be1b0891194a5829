package calendar

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"inboxd/internal/base/address"
)

// Shares of a calendar (ADR 0107). Received meetings never displace what the inbox organizes, and
// no sender displaces all others.
const (
	maxUnauthenticated = 500  // meetings of all unauthenticated senders together
	maxOfDomain        = 1000 // meetings of one authenticated domain
	maxShareBytes      = 2 << 20
	reservedMeetings   = 1000 // of MaxMeetings, for the inbox's own
	reservedBytes      = 8 << 20
)

// senderOf is whose share a received meeting counts against: the domain of an authenticated sender.
// It is empty for all others together, and for what the inbox organizes.
func senderOf(m *Meeting) string {
	if m.Source != Outbound && (m.Signed || m.boundToSender()) {
		return strings.ToLower(address.DomainOf(m.Speaker))
	}
	return ""
}

// use is the room that meetings take.
type use struct {
	meetings int
	bytes    int64
}

func (u use) beyond(meetings int, bytes int64) bool { return u.meetings > meetings || u.bytes > bytes }

func (u *use) add(bytes int64, sign int) {
	u.meetings += sign
	u.bytes += int64(sign) * bytes
}

// MakeRoom returns the meetings to remove so that a meeting of the given size can be stored. It
// removes received meetings that are over, the oldest first: from the sender's share if that is
// full, else from any. False means that the room is not enough: a future meeting is never removed
// for another one.
func (b *Book) MakeRoom(m *Meeting, bytes int64, now time.Time) (gone []int64, ok bool) {
	if b == nil {
		return nil, true
	}
	own, sender := m.Source == Outbound, senderOf(m)
	var all, received, share use
	all.add(bytes, 1)
	if !own {
		received, share = all, all
	}
	var over []*Meeting
	for _, other := range b.Meetings {
		if other.ID == m.ID {
			continue
		}
		all.add(other.Bytes, 1)
		if other.Source == Outbound {
			continue
		}
		received.add(other.Bytes, 1)
		if !own && other.sender == sender {
			share.add(other.Bytes, 1)
		}
		if other.isOver(now) {
			over = append(over, other)
		}
	}
	most := maxOfDomain
	if sender == "" {
		most = maxUnauthenticated
	}
	slices.SortStableFunc(over, func(a, b *Meeting) int { return a.Until.Compare(b.Until) })
	for _, other := range over {
		crowded := share.beyond(most, maxShareBytes)
		full := received.beyond(MaxMeetings-reservedMeetings, MaxBytes-reservedBytes) || all.beyond(MaxMeetings, MaxBytes)
		ofShare := !own && other.sender == sender
		if !crowded && !full {
			break
		}
		if !ofShare && !full {
			continue
		}
		gone = append(gone, other.ID)
		all.add(other.Bytes, -1)
		received.add(other.Bytes, -1)
		if ofShare {
			share.add(other.Bytes, -1)
		}
	}
	if share.beyond(most, maxShareBytes) || all.beyond(MaxMeetings, MaxBytes) {
		return nil, false
	}
	return gone, own || !received.beyond(MaxMeetings-reservedMeetings, MaxBytes-reservedBytes)
}

// isOver reports whether a meeting has no future occurrence and only waits for its removal.
func (m *Meeting) isOver(now time.Time) bool {
	return !m.Until.IsZero() && !m.Until.Add(-keptFor).After(now)
}

// Removal records that the inbox removed a meeting, so that no message restores it before Until.
type Removal struct {
	UID   uint64 // a digest of it
	Until time.Time
}

// maxRemovals is how many are stored; beyond it the oldest are forgotten.
const maxRemovals = MaxMeetings

func digestOf(uid string) uint64 {
	sum := sha256.Sum256([]byte(uid))
	return binary.BigEndian.Uint64(sum[:])
}

// Removing returns the calendar without that meeting. Messages do not restore it for 30 days.
func (b *Book) Removing(m *Meeting, now time.Time) *Book {
	next := b.Without([]int64{m.ID})
	next.ChangedAt = now
	next.Removed = slices.DeleteFunc(slices.Clone(b.Removed), func(r Removal) bool { return !r.Until.After(now) })
	next.Removed = append(next.Removed, Removal{digestOf(m.UID), now.Add(keptFor).Truncate(time.Second)})
	slices.SortStableFunc(next.Removed, func(a, b Removal) int { return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.UID, b.UID)) })
	next.Removed = next.Removed[max(len(next.Removed)-maxRemovals, 0):]
	return next
}

// removed reports whether the inbox removed a meeting with that UID recently.
func (b *Book) removed(uid string, now time.Time) bool {
	if b == nil || len(b.Removed) == 0 {
		return false
	}
	digest := digestOf(uid)
	return slices.ContainsFunc(b.Removed, func(r Removal) bool { return r.UID == digest && r.Until.After(now) })
}
