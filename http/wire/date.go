package wire

import (
	"sync/atomic"
	"time"
)

// httpDate is the format of RFC 9110 section 5.6.7.
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

// dateLine caches the Date of responses, formatted once a second. Any goroutine may use it.
type dateLine struct{ current atomic.Pointer[datedSecond] }

type datedSecond struct {
	unix int64
	text []byte
}

func (d *dateLine) at(now time.Time) []byte {
	unix := now.Unix()
	if c := d.current.Load(); c != nil && c.unix == unix {
		return c.text
	}
	c := &datedSecond{unix, now.UTC().AppendFormat(nil, httpDate)}
	d.current.Store(c)
	return c.text
}
