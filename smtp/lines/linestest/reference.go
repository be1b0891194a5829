// Package linestest is a reference implementation of the line discipline for tests. It is slow, and
// simple enough to see that it is correct. It shares no code with package lines.
package linestest

import "strings"

// ReferenceBody applies the line discipline to a DATA body. The message is what precedes the first
// CRLF.CRLF; the search includes the CRLF of the DATA command. CRLF divides the lines. One leading
// dot of each line is removed; then remaining CRs, LFs and NULs are repaired.
func ReferenceBody(wire string) (body string, rest string, end bool) {
	text, rest, end := strings.Cut("\r\n"+wire, "\r\n.\r\n")
	if !end {
		return "", "", false
	}
	lines := strings.Split(text, "\r\n")[1:]
	for i, line := range lines {
		lines[i] = repairLine(strings.TrimPrefix(line, ".")) + "\r\n"
	}
	return strings.Join(lines, ""), rest, true
}

// repairLine replaces CR, LF and NUL in text without CRLF.
func repairLine(line string) string {
	return strings.NewReplacer("\r", " ", "\n", "\r\n", "\x00", " ").Replace(line)
}

// ReferenceChunks applies the line discipline to the joined chunks of BDAT.
func ReferenceChunks(wire string) string {
	lines := strings.Split(wire, "\r\n")
	for i := range lines {
		lines[i] = repairLine(lines[i])
	}
	body := strings.Join(lines, "\r\n")
	if body != "" && !strings.HasSuffix(body, "\r\n") {
		body += "\r\n"
	}
	return body
}

// lineEnds are joined in pairs around a dot. One of them is a true line end, the others are not.
var lineEnds = []string{
	"\r\n", "\n", "\r", "\r\r\n", "\n\n", "\r\r", "\n\r", "\r\n\x00", "\x00\r\n", "\r\x00\n", "\x00\n", "\r\x00",
}

// MixedLineEnds returns every pair of lineEnds around a dot.
func MixedLineEnds() []string {
	var all []string
	for _, before := range lineEnds {
		for _, after := range lineEnds {
			all = append(all, before+"."+after)
		}
	}
	return all
}
