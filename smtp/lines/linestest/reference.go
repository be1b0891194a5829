// Package linestest is the line discipline in plain words, for tests: slow, and so simple that
// a reader sees that it is right. It shares no code with package lines.
package linestest

import "strings"

// Body is the line discipline in plain words: the message is what stands before
// the first CRLF.CRLF, the CRLF of the DATA command included in the search; lines are what
// CRLF divides; one leading dot of each goes; then what is left of CR, LF and NUL is
// repaired.
func Body(wire string) (body string, rest string, end bool) {
	text, rest, end := strings.Cut("\r\n"+wire, "\r\n.\r\n")
	if !end {
		return "", "", false
	}
	lines := strings.Split(text, "\r\n")[1:]
	for i, line := range lines {
		lines[i] = repair(strings.TrimPrefix(line, ".")) + "\r\n"
	}
	return strings.Join(lines, ""), rest, true
}

// repair is applied to text without CRLF.
func repair(line string) string {
	return strings.NewReplacer("\r", " ", "\n", "\r\n", "\x00", " ").Replace(line)
}

// Chunks is the same for the joined chunks of BDAT.
func Chunks(wire string) string {
	lines := strings.Split(wire, "\r\n")
	for i := range lines {
		lines[i] = repair(lines[i])
	}
	body := strings.Join(lines, "\r\n")
	if body != "" && !strings.HasSuffix(body, "\r\n") {
		body += "\r\n"
	}
	return body
}

// lineEnds are joined in pairs around a dot, with one true end among many false ones.
var lineEnds = []string{
	"\r\n", "\n", "\r", "\r\r\n", "\n\n", "\r\r", "\n\r", "\r\n\x00", "\x00\r\n", "\r\x00\n", "\x00\n", "\r\x00",
}

// Mixes returns every pair of lineEnds around a dot.
func Mixes() []string {
	var all []string
	for _, before := range lineEnds {
		for _, after := range lineEnds {
			all = append(all, before+"."+after)
		}
	}
	return all
}
