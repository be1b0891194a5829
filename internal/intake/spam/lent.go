package spam

import (
	"errors"
	"io"
	"sync"
)

// lent is a message that nobody reads after end. net/http may still be sending a body when its
// response has arrived, or when nobody waits for one any more.
type lent struct {
	mu   sync.Mutex // guards what follows
	raw  []byte
	over bool
}

var errOver = errors.New("the mail was taken back")

func (l *lent) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// body is the message from its beginning.
func (l *lent) body() io.ReadCloser { return io.NopCloser(&lentReader{mail: l}) }

// lentReader is used by one goroutine, which sends the request.
type lentReader struct {
	mail *lent
	at   int
}

func (r *lentReader) Read(p []byte) (int, error) {
	r.mail.mu.Lock()
	defer r.mail.mu.Unlock()
	switch {
	case r.mail.over:
		return 0, errOver
	case r.at == len(r.mail.raw):
		return 0, io.EOF
	}
	n := copy(p, r.mail.raw[r.at:])
	r.at += n
	return n, nil
}
