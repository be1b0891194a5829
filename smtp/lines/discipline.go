package lines

import "bytes"

// lineState is the position of the input relative to the latest line end.
type lineState uint8

const (
	lineStart lineState = iota // at the first byte, or right after CRLF: a dot is special here
	inLine
	heldCR    // a CR is held back: the next byte decides whether it ends the line
	heldDot   // CRLF "." is held back
	heldDotCR // CRLF "." CR is held back
)

// DataDecoder converts body bytes to lines that end in CRLF and contain no other CR, LF or NUL, and
// finds the end of DATA. The zero value reads a BDAT body; with DotStuffed it reads DATA.
//
// Only the five bytes CRLF.CRLF end DATA (or .CRLF at its first byte). Only after CRLF does a dot
// count as the first of a line. Hence nothing that another server took for body can be taken for an
// end of DATA here, with commands after it (SMTP smuggling). Inside the body we repair instead of
// refusing, as Postfix does with smtpd_forbid_bare_newline=normalize. A bare LF becomes CRLF,
// because scripts that send it mean a line end. A bare CR or a NUL becomes a space, because the
// common CR CRLF would otherwise create an empty line that ends the header.
//
// Only the session's goroutine uses it.
type DataDecoder struct {
	decoderState lineState
	DotStuffed   bool
}

// AppendBody appends the body bytes found in src to dst. It stops after the end of DATA: src[n:] are
// commands again. Every byte of src is scanned a bounded number of times, whatever src contains.
func (d *DataDecoder) AppendBody(dst, src []byte) (_ []byte, n int, end bool) {
	cr, lf, nul := byteSeeker{b: '\r', at: -1}, byteSeeker{b: '\n', at: -1}, byteSeeker{b: 0, at: -1}
	run := 0 // src[run:n] needs no change and is not copied yet
	for n < len(src) && !end {
		if d.decoderState <= inLine && !d.dotAt(src[n]) {
			stop := min(cr.nextIndex(src, n), lf.nextIndex(src, n), nul.nextIndex(src, n))
			if stop+1 < len(src) && src[stop] == '\r' && src[stop+1] == '\n' {
				n, d.decoderState = stop+2, lineStart
				continue
			}
			if stop > n {
				n, d.decoderState = stop, inLine
				continue
			}
			if nuls := leadingNULs(src[n:]); nuls > 1 { // many NULs; one by one is slow
				dst = append(dst, src[run:n]...)
				dst = append(dst, bytes.Repeat(space, nuls)...)
				n += nuls
				run, d.decoderState = n, inLine
				continue
			}
		}
		dst = append(dst, src[run:n]...)
		dst, end = d.decodeByte(dst, src[n])
		n++
		run = n
	}
	return append(dst, src[run:n]...), n, end
}

func (d *DataDecoder) dotAt(c byte) bool {
	return d.DotStuffed && d.decoderState == lineStart && c == '.'
}

// decodeByte processes one byte that is special or that follows a byte held back.
func (d *DataDecoder) decodeByte(dst []byte, c byte) (_ []byte, end bool) {
	switch d.decoderState {
	case lineStart:
		if d.dotAt(c) {
			d.decoderState = heldDot
			return dst, false
		}
	case heldCR:
		if c == '\n' {
			d.decoderState = lineStart
			return append(dst, '\r', '\n'), false
		}
		dst = append(dst, ' ')
	case heldDot: // remove a stuffed dot, RFC 5321 section 4.5.2
		if c == '\r' {
			d.decoderState = heldDotCR
			return dst, false
		}
	case heldDotCR:
		if c == '\n' {
			d.decoderState = lineStart
			return dst, true
		}
		dst = append(dst, ' ')
	}
	d.decoderState = inLine
	switch c {
	case '\r':
		d.decoderState = heldCR
	case '\n':
		dst = append(dst, '\r', '\n')
	case 0:
		dst = append(dst, ' ')
	default:
		dst = append(dst, c)
	}
	return dst, false
}

// FinishBody ends a counted (BDAT) body, whose last line may lack its line end.
func (d *DataDecoder) FinishBody(body []byte) []byte {
	if d.decoderState == heldCR {
		body = append(body, ' ')
	}
	d.decoderState = lineStart
	if len(body) > 0 && !bytes.HasSuffix(body, crlf) {
		body = append(body, crlf...)
	}
	return body
}

var (
	crlf  = []byte("\r\n")
	space = []byte(" ")
)

func leadingNULs(b []byte) (n int) {
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}

// byteSeeker finds the next b in a slice and remembers its index, so that many occurrences of one
// special byte do not cause a scan for the others each time.
type byteSeeker struct {
	b  byte
	at int
}

// nextIndex returns the index in src of the first b in src[n:], or len(src) if there is none.
func (s *byteSeeker) nextIndex(src []byte, n int) int {
	if s.at < n {
		s.at = len(src)
		if i := bytes.IndexByte(src[n:], s.b); i >= 0 {
			s.at = n + i
		}
	}
	return s.at
}
