package persist

import (
	"encoding/binary"
	"math"
)

// ordinary is a record of those that every mail writes. It writes itself, in the very bytes
// that encoding gives and in a fifth of its time, unless it holds something rare.
type ordinary interface {
	// append appends the record; false when it holds what encoding must write.
	append(b []byte) (_ []byte, ok bool)
}

func (r *profileRecord) append(b []byte) ([]byte, bool) {
	m := newMembers(b)
	m.bytes(1, r.Account[:])
	m.text(2, r.Label)
	m.int(3, int64(r.RetentionHours))
	m.int(4, int64(r.CreatedAt))
	m.int(5, int64(r.DeletedAt))
	m.int(6, r.LastID)
	m.uint(7, r.LastEvent)
	m.int(8, int64(r.DueAt))
	return m.b, true
}

func (r *messageRecord) append(b []byte) ([]byte, bool) {
	m := newMembers(b)
	m.uint(1, uint64(r.Direction))
	m.int(2, int64(r.ReceivedAt))
	m.int(3, int64(r.ExpiresAt))
	m.text(4, r.FromEmail)
	m.text(5, r.FromName)
	m.text(6, r.EnvelopeTo)
	m.text(7, r.Subject)
	m.text(8, r.OTP)
	m.int(9, r.Size)
	m.bool(10, r.Read)
	m.bytes(11, r.Unsettled)
	m.uint(20, r.Thread)
	return m.b, r.Sending == nil
}

// append leaves lists to encoding: a mail without any is one that is read again from its bytes.
func (r *contentRecord) append(b []byte) ([]byte, bool) {
	if len(r.To)+len(r.Cc)+len(r.ReplyTo)+len(r.References)+len(r.Headers)+len(r.Attachments)+len(r.Links) > 0 ||
		r.OTP != nil || r.Spam != nil || r.Auth != nil && len(r.Auth.Signatures) > 0 {
		return b, false
	}
	m := newMembers(b)
	m.text(1, r.Subject)
	m.text(2, r.FromEmail)
	m.text(3, r.FromName)
	m.int(7, int64(r.Date))
	m.text(8, r.MessageID)
	m.text(9, r.InReplyTo)
	m.text(12, r.Text)
	m.text(13, r.HTML)
	m.bool(14, r.HasHTML)
	m.bool(17, r.TextFromHTML)
	m.bool(18, r.TextCut)
	m.bool(19, r.Degraded)
	m.bool(21, r.Unread)
	if r.Auth != nil {
		m.key(22)
		m.b = r.Auth.append(m.b)
	}
	return m.b, true
}

func (r *authRecord) append(b []byte) []byte {
	m := newMembers(b)
	m.text(1, r.Server)
	for i, result := range [...]*authResultRecord{&r.SPF, &r.DKIM, &r.DMARC} {
		m.key(byte(2 + i))
		m.b = append(m.b, majorList|2)
		m.b = appendString(m.b, result.Word)
		m.b = appendString(m.b, result.Domain)
	}
	m.bool(5, r.HELO)
	return m.b
}

func (r *publicRecord) append(b []byte) ([]byte, bool) {
	if len(r.To) > 0 || r.Meeting != nil || r.Attendee != nil {
		return b, false
	}
	m := newMembers(b)
	m.key(1)
	m.b = appendHead(m.b, majorUint, r.Number)
	m.key(2)
	m.b = appendString(m.b, r.Name)
	m.bytes(3, r.Account[:])
	m.key(4)
	m.b = appendString(m.b, r.Address)
	m.int(5, r.MessageID)
	m.int(6, int64(r.At))
	m.text(7, r.From)
	m.text(8, r.Subject)
	m.text(9, r.OTP)
	m.text(11, r.SendStatus)
	m.text(12, r.SendError)
	m.bool(13, r.Encrypted)
	return m.b, true
}

// Major types and simple values of CBOR, RFC 8949 §3.1 and §3.3.
const (
	majorUint  = 0 << 5
	majorMinus = 1 << 5
	majorBytes = 2 << 5
	majorText  = 3 << 5
	majorList  = 4 << 5
	majorMap   = 5 << 5

	simpleTrue = 0xf5
)

// members are those of a map that is being appended to b: at most 23, in the order of their
// keys, which are below 24. Members of no value are left out.
type members struct {
	b    []byte
	head int // where their count stands
}

func newMembers(b []byte) members { return members{append(b, majorMap), len(b)} }

// key begins a member, whose value is appended next.
func (m *members) key(k byte) {
	m.b[m.head]++
	m.b = append(m.b, majorUint|k)
}

func (m *members) uint(k byte, v uint64) {
	if v != 0 {
		m.key(k)
		m.b = appendHead(m.b, majorUint, v)
	}
}

func (m *members) int(k byte, v int64) {
	switch {
	case v < 0:
		m.key(k)
		m.b = appendHead(m.b, majorMinus, uint64(^v))
	default:
		m.uint(k, uint64(v))
	}
}

func (m *members) bool(k byte, v bool) {
	if v {
		m.key(k)
		m.b = append(m.b, simpleTrue)
	}
}

func (m *members) text(k byte, v string) {
	if v != "" {
		m.key(k)
		m.b = appendString(m.b, v)
	}
}

func (m *members) bytes(k byte, v []byte) {
	if len(v) > 0 {
		m.key(k)
		m.b = append(appendHead(m.b, majorBytes, uint64(len(v))), v...)
	}
}

func appendString(b []byte, s string) []byte {
	return append(appendHead(b, majorText, uint64(len(s))), s...)
}

// appendHead appends a major type and its number in the shortest form, RFC 8949 §4.2.1.
func appendHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}
