package http

import (
	"bufio"
	"bytes"
	"io"
	"testing"
	"time"
)

// FuzzPlainAnswer: what is read the short way is what net/http reads.
func FuzzPlainAnswer(f *testing.F) {
	for _, s := range plainAnswers {
		f.Add([]byte(s))
	}
	for _, s := range otherAnswers {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, came []byte) {
		if len(came) > 4<<10 {
			return
		}
		status, body, plain := plainAnswer(came)
		if !plain {
			return
		}
		r := bufio.NewReader(bytes.NewReader(came))
		a, whole, err := readAnswer(r, &io.LimitedReader{}, time.Now())
		if err != nil || !whole || a.Status != status || a.Excerpt != excerptOf(body) {
			t.Errorf("%q: %d %q; net/http: %+v, whole %v, %v", came, status, body, a, whole, err)
		}
	})
}

var plainAnswers = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 19:00:00 GMT\r\nContent-Length: 2\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nok",
	"HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n",
	"HTTP/1.1 500 \r\ncontent-length:1\r\n\r\n\xff",
}

var otherAnswers = []string{
	"HTTP/1.1 200 OK\r\n\r\n", // until the connection ends
	"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTRANSFER-ENCODING: chunked\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTrailer: a\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nUpgrade: a\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551618\r\n\r\nok", // 2 in 64 bits
	"HTTP/1.1 200 OK\r\nContent-Length: :\r\n\r\n0123456789",            // ':' follows '9'
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\nConnection: close\r\n\r\nok",
	"HTTP/1.1 200 OK\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n: b\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n a: b\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA : b\r\n\r\nok",
	"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
	"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
	"\r\n\r\n",
}

// TestPlainAnswer: the short way is taken where it should be, and nowhere else.
func TestPlainAnswer(t *testing.T) {
	for _, s := range plainAnswers {
		if _, _, plain := plainAnswer([]byte(s)); !plain {
			t.Errorf("not plain: %q", s)
		}
	}
	for _, s := range otherAnswers {
		if status, body, plain := plainAnswer([]byte(s)); plain {
			t.Errorf("plain, %d %q: %q", status, body, s)
		}
	}
}
