package message

import (
	"bytes"
	"strings"
)

// inlineFiles extracts the files that old mail programs wrote into a text (POSIX uuencode), and
// returns them as parts after the text. A text that only resembles one stays unchanged. The work is
// linear: an invalid block is not read beyond the next "begin".
func inlineFiles(p *mimePart) (files []*mimePart) {
	if p.encoding != identityEncoding || p.mediaType != "text/plain" || p.isAttachment {
		return nil
	}
	var text []byte
	from := 0 // p.body[from:] is not in text yet
	for at := 0; at < len(p.body) && len(files) < maxFiles; {
		at = nextBegin(p.body, at)
		if at < 0 {
			break
		}
		line := lineOf(p.body[at:])
		end := uuEnd(p.body[at+len(line):])
		name, ok := uuName(line)
		if !ok || end == 0 {
			at += len(line)
			continue
		}
		end += at + len(line)
		files = append(files, &mimePart{mediaType: "application/octet-stream", encoding: uuencode, isAttachment: true,
			filename: decodeWords(name), body: p.body[at:end], parent: p.parent, isSigned: p.isSigned})
		text = append(text, p.body[from:at]...)
		from, at = end, end
	}
	if files != nil {
		p.body = append(text, p.body[from:]...)
	}
	return files
}

// nextBegin finds the next line that starts with "begin ", or -1.
func nextBegin(b []byte, at int) int {
	for at < len(b) {
		i := bytes.Index(b[at:], []byte("begin "))
		if i < 0 {
			return -1
		}
		if at += i; at == 0 || b[at-1] == '\n' {
			return at
		}
		at += len("begin ")
	}
	return -1
}

// lineOf returns the first line of b with its end.
func lineOf(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1]
	}
	return b
}

// uuName parses "begin 644 name".
func uuName(line []byte) (name string, ok bool) {
	mode, name, _ := strings.Cut(strings.TrimSpace(string(line[len("begin "):min(len(line), 1024)])), " ")
	if len(mode) < 3 || len(mode) > 4 || strings.Trim(mode, "01234567") != "" {
		return "", false
	}
	return name, name != ""
}

// uuEnd returns the length of b up to and including its "end" line, 0 if a line before it is not
// uuencoded.
func uuEnd(b []byte) (n int) {
	for n < len(b) {
		line := lineOf(b[n:])
		n += len(line)
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case string(line) == "end":
			return n
		case len(line) == 0:
		case !uuLine(line):
			return 0
		}
	}
	return 0
}

// uuLine reports whether a line has the length that its first character states, apart from spaces
// lost in transit and a check character.
func uuLine(line []byte) bool {
	if line[0] < ' ' || line[0] > '`' {
		return false
	}
	want := (int(line[0]-' ')&63 + 2) / 3 * 4
	for _, c := range line[1:] {
		if c < ' ' || c > '`' {
			return false
		}
	}
	return len(line)-1 <= want+1
}
