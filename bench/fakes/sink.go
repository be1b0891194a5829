package fakes

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sync"
)

// Sink is a mail server that takes everything and remembers how often it took a mail of each subject. A server under
// load hands its mail to it.
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
	go func() { // ends with ln
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go s.serve(nc) // ends with the other end
		}
	}()
	return s, nil
}

// Close takes no more sessions. Those that are open end with their clients.
func (s *Sink) Close() error {
	if s == nil {
		return nil
	}
	return s.ln.Close()
}

// Taken is how many mails of a subject came.
func (s *Sink) Taken(subject string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[subject]
}

// serve speaks as much of RFC 5321 as a client needs: a mail is counted before its 250.
func (s *Sink) serve(nc net.Conn) {
	defer nc.Close()
	in := bufio.NewReader(nc)
	say := func(line string) { _, _ = io.WriteString(nc, line+"\r\n") }
	say("220 sink ESMTP")
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		switch verb := string(bytes.ToUpper(line[:min(4, len(line))])); verb {
		case "EHLO":
			say("250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8")
		case "DATA":
			say("354 go ahead")
			if !s.take(in) {
				return
			}
			say("250 2.0.0 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// take reads a mail up to its final dot.
func (s *Sink) take(in *bufio.Reader) bool {
	subject, head := "", true
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return false
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0:
			head = false
		case head && len(line) > 8 && bytes.EqualFold(line[:8], []byte("subject:")):
			subject = string(bytes.TrimSpace(line[8:]))
		case string(line) == ".":
			s.mu.Lock()
			s.taken[subject]++
			s.mu.Unlock()
			return true
		}
	}
}
