package main

import (
	"strings"
	"time"
	"unicode"

	"inboxd/http/client"
)

// printable removes control characters other than line breaks and tabs: a message could control
// the terminal with them.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// singleLine returns a text on one line, without tabs.
func singleLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func formatMailbox(m client.Mailbox) string {
	if m.Name == "" {
		return m.Email
	}
	return m.Name + " <" + m.Email + ">"
}

func formatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
