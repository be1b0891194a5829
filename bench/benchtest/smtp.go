package benchtest

import (
	"bufio"
	"io"
	"net"
	"regexp"
	"strings"
)

var fakeCode = regexp.MustCompile(`code is (\d{6})`)

// acceptMail ends with ln.
func (f *Fake) acceptMail(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go f.serveSMTP(c)
	}
}

// serveSMTP is strict where a pipelining client could go wrong: one reply per command, and
// unknown recipients are refused.
func (f *Fake) serveSMTP(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	say := func(s string) { _, _ = io.WriteString(c, s+"\r\n") }
	say("220 fake ESMTP")
	to := ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), " ")
		switch verb {
		case "EHLO":
			say("250-fake\r\n250-PIPELINING\r\n250 8BITMIME")
		case "RCPT":
			to = strings.Replace(strings.Trim(strings.TrimPrefix(rest, "TO:"), "<>"), "+lane@", "@", 1)
			if !f.knows(to) {
				to = ""
				say("550 5.1.1 no such inbox")
				continue
			}
			say("250 ok")
		case "DATA":
			if to == "" {
				say("503 5.5.1 no recipient")
				continue
			}
			say("354 go ahead")
			say(f.take(r, to))
			to = ""
		case "HELO", "MAIL", "RSET":
			say("250 ok")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("500 5.5.2 " + verb)
		}
	}
}

func (f *Fake) take(r *bufio.Reader, to string) (reply string) {
	var mail strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "451 4.3.0 cut short"
		}
		if line == ".\r\n" {
			break
		}
		mail.WriteString(line)
	}
	code := "none"
	if m := fakeCode.FindStringSubmatch(mail.String()); m != nil {
		code = m[1]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken++
	switch {
	case f.refuse && f.taken%3 == 0:
		return "451 4.3.2 too much to do"
	case f.rude && f.taken%3 == 0:
		return "452 4.3.1 no room"
	}
	if !f.loseMail || f.taken%10 != 0 {
		f.commit(fakeRecord{Address: to, Code: code})
		f.tell(fakeRecord{Address: to, Code: code})
	}
	return "250 2.0.0 kept"
}
