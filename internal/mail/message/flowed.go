package message

import "bytes"

// unflow decodes format=flowed (RFC 3676) in place: a line that ends in a space continues on the
// next line of the same quote depth. With delsp the final space is only a marker, which may be
// inside words and links. Lines end in LF.
func unflow(b []byte, delsp bool) []byte {
	out := b[:0] // every line is copied to its position or before it
	open, depth := false, 0
	for len(b) > 0 {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		b = rest
		quotes := len(line) - len(bytes.TrimLeft(line, ">"))
		text := bytes.TrimPrefix(line[quotes:], []byte(" ")) // remove space-stuffing
		signature := string(text) == "-- "
		switch {
		case open && quotes == depth && !signature:
			out = append(out, text...)
		default:
			if open {
				out = append(out, '\n')
			}
			if quotes > 0 {
				text = line
			}
			out = append(out, text...)
		}
		open, depth = ended && !signature && bytes.HasSuffix(text, []byte(" ")), quotes
		if open && delsp {
			out = out[:len(out)-1]
		}
		if ended && !open {
			out = append(out, '\n')
		}
	}
	if open {
		out = append(out, '\n')
	}
	return out
}
