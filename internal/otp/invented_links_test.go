package otp_test

import (
	"path/filepath"
	"testing"

	"inboxd/internal/message"
	"inboxd/internal/otp"
	"inboxd/internal/otp/link"
)

// findAll reads a tale as a mail of text and HTML, with its links.
func (m tale) findAll() otp.Result {
	raw := "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=parts\r\n"
	raw += "\r\n--parts\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + m.text
	if m.html != "" {
		raw += "\r\n--parts\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + m.html
	}
	d := message.Parse([]byte(raw + "\r\n--parts--\r\n"))
	v := otp.ViewOf(d.HTML)
	in := otp.Input{Subject: m.subject, Visible: v.Visible, Preview: v.Preview, Alt: v.Alt, Links: d.Links}
	for _, a := range v.Anchors {
		in.Anchors = append(in.Anchors, link.Anchor(a))
	}
	if !d.TextFromHTML {
		in.Text = d.Text
	}
	return otp.Find(in)
}

// Mails with many links, and the one that confirms or signs in.
func TestInventedLinks(t *testing.T) {
	all := tales(t, filepath.Join("testdata", "links", "mails.txt"))
	if len(all) < 60 {
		t.Fatalf("only %d mails", len(all))
	}
	for _, m := range all {
		if got := m.findAll().VerificationLink; got != m.want {
			t.Errorf("%s, %s: %q, want %q", m.name, m.subject, got, m.want)
		}
	}
}
