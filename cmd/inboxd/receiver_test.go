package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// copyOf is one message as a receiver accepted it.
type copyOf struct {
	from string
	rcpt []string
	raw  string
}

// receiver is another server's MX with scripted replies.
type receiver struct {
	addr string
	port string
	// answer returns the reply to a command line, or "" for the normal one; "." is the end of a
	// message.
	answer func(line string) string
	// arrived receives a value for each accepted message.
	arrived chan copyOf
	// pause is the time between accepting a message and the reply: a crash in it causes a second
	// copy.
	pause time.Duration

	mu     sync.Mutex
	copies []copyOf
	conns  map[net.Conn]bool
}

// receive starts a receiver on ip until the test ends. port 0 picks a free one.
func receive(t testing.TB, ip string, port string, answer func(line string) string) *receiver {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, port))
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{addr: ln.Addr().String(), answer: answer, arrived: make(chan copyOf, 100_000), conns: map[net.Conn]bool{}}
	_, r.port, _ = net.SplitHostPort(r.addr)
	var sessions sync.WaitGroup
	sessions.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.conns[conn] = true
			r.mu.Unlock()
			sessions.Go(func() { r.session(conn) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		r.mu.Lock()
		for conn := range r.conns {
			conn.Close()
		}
		r.mu.Unlock()
		sessions.Wait()
	})
	return r
}

func (r *receiver) session(conn net.Conn) {
	defer func() {
		conn.Close()
		r.mu.Lock()
		delete(r.conns, conn)
		r.mu.Unlock()
	}()
	in := bufio.NewReader(conn)
	fmt.Fprint(conn, "220 receiver ESMTP\r\n")
	var c copyOf
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		usual := "250 2.0.0 OK"
		switch verb {
		case "EHLO":
			usual = "250-receiver\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n250 PIPELINING"
		case "DATA":
			usual = "354 go on"
		case "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return
		case "MAIL":
			c = copyOf{from: path(line)}
		}
		reply := r.reply(line, usual)
		if verb == "RCPT" && strings.HasPrefix(reply, "250") {
			c.rcpt = append(c.rcpt, path(line))
		}
		if _, err := fmt.Fprint(conn, reply+"\r\n"); err != nil {
			return
		}
		if verb != "DATA" || !strings.HasPrefix(reply, "354") {
			continue
		}
		if c.raw, err = body(in); err != nil {
			return
		}
		reply = r.reply(".", "250 2.0.0 taken")
		if strings.HasPrefix(reply, "250") { // accepted from here on, whether the sender gets the reply or not
			r.mu.Lock()
			r.copies = append(r.copies, c)
			r.mu.Unlock()
			r.arrived <- c
			time.Sleep(r.pause)
		}
		if _, err := fmt.Fprint(conn, reply+"\r\n"); err != nil {
			return
		}
	}
}

func (r *receiver) reply(line, usual string) string {
	if r.answer != nil {
		if reply := r.answer(line); reply != "" {
			return reply
		}
	}
	return usual
}

func (r *receiver) taken() []copyOf {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]copyOf(nil), r.copies...)
}

func path(line string) string {
	_, rest, _ := strings.Cut(line, "<")
	inner, _, _ := strings.Cut(rest, ">")
	return inner
}

// body reads DATA to its end and removes the stuffed dots.
func body(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line == ".\r\n" {
			return b.String(), nil
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
}
