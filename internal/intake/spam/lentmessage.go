package spam

import (
	"errors"
	"io"
	"sync"
)

// lentMessage is a message that nobody reads after end. net/http may still be sending a body when its
// response has arrived, or when nobody waits for one any more.
type lentMessage struct {
	mu     sync.Mutex // guards what follows
	raw    []byte
	isOver bool
}

var errOver = errors.New("the mail was taken back")

func (l *lentMessage) endLoan() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isOver = true
}

// newBody is the message from its beginning.
func (l *lentMessage) newBody() io.ReadCloser { return io.NopCloser(&lentReader{lentMessage: l}) }

// lentReader is used by one goroutine, which sends the request.
type lentReader struct {
	lentMessage *lentMessage
	at          int
}

func (r *lentReader) Read(p []byte) (int, error) {
	r.lentMessage.mu.Lock()
	defer r.lentMessage.mu.Unlock()
	switch {
	case r.lentMessage.isOver:
		return 0, errOver
	case r.at == len(r.lentMessage.raw):
		return 0, io.EOF
	}
	n := copy(p, r.lentMessage.raw[r.at:])
	r.at += n
	return n, nil
}
