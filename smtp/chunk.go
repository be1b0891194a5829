package smtp

import (
	"errors"
	"strconv"
	"strings"
)

// readChunk reads a BDAT command with its octets, RFC 3030 section 2. A chunk whose size is malformed
// or far too large ends the session, unlike other refusals: what follows is body and would be read
// as commands. The last chunk becomes a DATA command for go-smtp.
func (s *session) readChunk(line string) []byte {
	size, last, err := parseChunk(line)
	switch {
	case err != nil:
		s.hangUp(s.recordRefusal(replyChunkSize))
		return nil
	case size > 2*s.srv.opts.MaxMessageBytes:
		s.hangUp(s.recordRefusal(replyTooLarge))
		return nil
	}
	wanted := len(s.tx.env.RcptTo) > 0
	if wanted && !s.tx.chunking {
		if s.beginBody(false); last {
			s.tx.body.announcedSize = size
		}
		s.tx.chunking = true
	}
	s.startChunk()
	err = s.receiveBody(func(part []byte) (int, bool) {
		part = part[:min(int64(len(part)), size)]
		if size -= int64(len(part)); s.tx.chunking { // else the octets are discarded
			s.tx.body.appendWire(part)
		}
		return len(part), size == 0
	})
	if err != nil {
		s.hangUp(s.abortConnection(err))
		return nil
	}
	switch {
	case !wanted:
		s.writeReply(s.recordRefusal(replyNoRcpt))
	case s.tx.body.refusalReply != nil && !last:
		s.writeReply(s.recordRefusal(s.tx.body.refusalReply)) // repeated for each chunk until RSET
	case !last:
		s.writeReply(replyChunk)
	default:
		s.tx.body.finishBody()
		s.tx.chunking = false
		return dataCommand
	}
	return nil
}

// startChunk starts the time limit of a chunk. A body that holds charged memory does not get a
// fresh span: it had to make progress between the chunks, too.
func (s *session) startChunk() {
	switch body := &s.tx.body; {
	case !s.tx.chunking: // the octets will be discarded
		body.progress = s.bodyProgress()
	case body.chargedOctets == 0:
		body.progress.RestartSpan()
	}
}

var dataCommand = []byte("DATA\r\n")

// parseChunk reads a BDAT command: a decimal size and optionally LAST, separated by blanks only.
// Other servers may accept more variants than we do, and their peers send a chunk after them.
func parseChunk(line string) (size int64, last bool, err error) {
	verb, arg, _ := strings.Cut(line, " ")
	digits, rest, _ := strings.Cut(strings.Trim(arg, " "), " ")
	rest = asciiUpper(strings.Trim(rest, " "))
	if asciiUpper(verb) != "BDAT" || rest != "" && rest != "LAST" {
		return 0, false, errors.New("malformed BDAT")
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return int64(n), rest != "", err
}
