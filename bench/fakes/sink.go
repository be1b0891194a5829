package fakes

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
)

// ServeMail is as much of an SMTP server (RFC 5321) as a pipelining client needs: one reply for
// each command. known says whether there is a recipient; take gets each message, up to its final
// dot, before the reply that it returns. ServeMail ends with ln, and sessions with their clients.
func ServeMail(ln net.Listener, known func(to string) bool, take func(to string, message []byte) (reply string)) {
	for {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		go serveSession(nc, known, take)
	}
}

func serveSession(nc net.Conn, known func(string) bool, take func(string, []byte) string) {
	defer nc.Close()
	in := bufio.NewReader(nc)
	say := func(line string) { _, _ = io.WriteString(nc, line+"\r\n") }
	say("220 loopback ESMTP")
	to := ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), " ")
		switch verb {
		case "EHLO":
			say("250-loopback\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8")
		case "RCPT":
			path, _, _ := strings.Cut(strings.TrimPrefix(rest, "TO:<"), ">")
			if to = ""; !known(path) {
				say("550 5.1.1 no such inbox")
				continue
			}
			to = path
			say("250 ok")
		case "DATA":
			if to == "" {
				say("503 5.5.1 no recipient")
				continue
			}
			say("354 go ahead")
			message, err := readMessage(in)
			if err != nil {
				return
			}
			say(take(to, message))
			to = ""
		case "HELO", "MAIL", "RSET":
			say("250 ok")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("500 5.5.2 unknown command " + verb)
		}
	}
}

// readMessage reads up to the final dot, which is not part of the message.
func readMessage(in *bufio.Reader) (message []byte, err error) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil || string(line) == ".\r\n" {
			return message, err
		}
		message = append(message, line...)
	}
}

// Sink is an SMTP server that takes everything and counts the messages of each subject. A server
// under load hands its mail to it.
type Sink struct {
	Addr string // host:port

	ln    net.Listener
	mu    sync.Mutex
	taken map[string]int
}

// StartSink starts one on a free port of loopback.
func StartSink() (*Sink, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Sink{Addr: ln.Addr().String(), ln: ln, taken: map[string]int{}}
	go ServeMail(ln, func(string) bool { return true }, s.take) // ends with ln
	return s, nil
}

// Close takes no more sessions. Those that are open end with their clients.
func (s *Sink) Close() error {
	if s == nil {
		return nil
	}
	return s.ln.Close()
}

// Total is how many messages came.
func (s *Sink) Total() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, taken := range s.taken {
		n += int64(taken)
	}
	return n
}

// Taken is how many messages of a subject came.
func (s *Sink) Taken(subject string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[subject]
}

func (s *Sink) take(_ string, message []byte) (reply string) {
	for line := range bytes.Lines(message) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if bytes.EqualFold(name, []byte("subject")) {
			s.mu.Lock()
			s.taken[string(bytes.TrimSpace(value))]++
			s.mu.Unlock()
			break
		}
	}
	return "250 2.0.0 taken"
}
