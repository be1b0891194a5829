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
	if m.Source != SourceOutbound && (m.MailboxAuthenticated || m.boundToSender()) {
		return strings.ToLower(address.DomainOf(m.AuthorizedMailbox))
	}
	return ""
}

// roomUsage is the room that meetings take.
type roomUsage struct {
	meetings int
	bytes    int64
}

func (u roomUsage) exceedsLimits(meetings int, bytes int64) bool {
	return u.meetings > meetings || u.bytes > bytes
}

func (u *roomUsage) add(bytes int64, sign int) {
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
	own, sender := m.Source == SourceOutbound, senderOf(m)
	var all, received, share roomUsage
	all.add(bytes, 1)
	if !own {
		received, share = all, all
	}
	var over []*Meeting
	for _, other := range b.Meetings {
		if other.ID == m.ID {
			continue
		}
		all.add(other.RowBytes, 1)
		if other.Source == SourceOutbound {
			continue
		}
		received.add(other.RowBytes, 1)
		if !own && other.quotaSender == sender {
			share.add(other.RowBytes, 1)
		}
		if other.isOver(now) {
			over = append(over, other)
		}
	}
	most := maxOfDomain
	if sender == "" {
		most = maxUnauthenticated
	}
	slices.SortStableFunc(over, func(a, b *Meeting) int { return a.RemoveAt.Compare(b.RemoveAt) })
	for _, other := range over {
		crowded := share.exceedsLimits(most, maxShareBytes)
		full := received.exceedsLimits(MaxMeetings-reservedMeetings, MaxBytes-reservedBytes) || all.exceedsLimits(MaxMeetings, MaxBytes)
		ofShare := !own && other.quotaSender == sender
		if !crowded && !full {
			break
		}
		if !ofShare && !full {
			continue
		}
		gone = append(gone, other.ID)
		all.add(other.RowBytes, -1)
		received.add(other.RowBytes, -1)
		if ofShare {
			share.add(other.RowBytes, -1)
		}
	}
	if share.exceedsLimits(most, maxShareBytes) || all.exceedsLimits(MaxMeetings, MaxBytes) {
		return nil, false
	}
	return gone, own || !received.exceedsLimits(MaxMeetings-reservedMeetings, MaxBytes-reservedBytes)
}

// isOver reports whether a meeting has no future occurrence and only waits for its removal.
func (m *Meeting) isOver(now time.Time) bool {
	return !m.RemoveAt.IsZero() && !m.RemoveAt.Add(-keptFor).After(now)
}

// RemovedMeeting records that the inbox removed a meeting, so that no message restores it before Until.
type RemovedMeeting struct {
	UID      uint64 // a digest of it
	ForgetAt time.Time
}

// maxRemovals is how many are stored; beyond it the oldest are forgotten.
const maxRemovals = MaxMeetings

func digestOf(uid string) uint64 {
	sum := sha256.Sum256([]byte(uid))
	return binary.BigEndian.Uint64(sum[:])
}

// WithRemoval returns the calendar without that meeting. Messages do not restore it for 30 days.
func (b *Book) WithRemoval(m *Meeting, now time.Time) *Book {
	next := b.WithoutMeetings([]int64{m.ID})
	next.ChangedAt = now
	next.RemovedMeetings = slices.DeleteFunc(slices.Clone(b.RemovedMeetings), func(r RemovedMeeting) bool { return !r.ForgetAt.After(now) })
	next.RemovedMeetings = append(next.RemovedMeetings, RemovedMeeting{digestOf(m.UID), now.Add(keptFor).Truncate(time.Second)})
	slices.SortStableFunc(next.RemovedMeetings, func(a, b RemovedMeeting) int {
		return cmp.Or(a.ForgetAt.Compare(b.ForgetAt), cmp.Compare(a.UID, b.UID))
	})
	next.RemovedMeetings = next.RemovedMeetings[max(len(next.RemovedMeetings)-maxRemovals, 0):]
	return next
}

// wasRemoved reports whether the inbox removed a meeting with that UID recently.
func (b *Book) wasRemoved(uid string, now time.Time) bool {
	if b == nil || len(b.RemovedMeetings) == 0 {
		return false
	}
	digest := digestOf(uid)
	return slices.ContainsFunc(b.RemovedMeetings, func(r RemovedMeeting) bool { return r.UID == digest && r.ForgetAt.After(now) })
}
