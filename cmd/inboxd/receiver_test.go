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

// copyOf is one mail as a receiver took it.
type copyOf struct {
	from string
	rcpt []string
	raw  string
}

// receiver is another server's MX, which says what a script tells it to.
type receiver struct {
	addr string
	port string
	// answer gives the reply to a command line, empty for the usual one; "." is the end of
	// a mail.
	answer func(line string) string
	// arrived gets a value for each mail that was taken.
	arrived chan copyOf
	// pause lies between taking a mail and saying so: a crash there makes a second copy.
	pause time.Duration

	mu     sync.Mutex
	copies []copyOf
	conns  map[net.Conn]bool
}

// receive starts a receiver on ip until the test ends. port 0 takes a free one.
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
		if strings.HasPrefix(reply, "250") { // ours from here on, whether or not they hear of it
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

// body reads DATA up to its end and takes the stuffed dots out.
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
