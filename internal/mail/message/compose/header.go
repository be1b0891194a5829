package compose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/mail/message"
)

const (
	maxReferences = 50  // message ids in References
	maxMessageID  = 995 // octets of one message id; with brackets and a space it fills a line
)

// headerWriter appends header fields, folded (RFC 5322 section 2.2.3). One Write owns it.
type headerWriter struct {
	out    []byte
	column int
}

func (h *headerWriter) top(d Draft) error {
	h.field("Date", d.Date.UTC().Format(time.RFC1123Z))
	for _, list := range []struct {
		name string
		of   []message.Mailbox
	}{{"From", []message.Mailbox{d.From}}, {"To", d.To}, {"Cc", d.Cc}} {
		if err := h.mailboxes(list.name, list.of); err != nil {
			return err
		}
	}
	h.field("Subject", unstructured(d.Subject)...)
	h.ids("Message-ID", d.MessageID)
	h.ids("In-Reply-To", d.InReplyTo)
	h.ids("References", chain(d.References, d.InReplyTo)...)
	if d.Auto {
		h.field("Auto-Submitted", "auto-generated")
	}
	h.field("MIME-Version", "1.0")
	return nil
}

// field writes a field of words that are separated by single spaces and never broken. Only a word
// that would exceed the line limit begins on the line after the field's name.
func (h *headerWriter) field(name string, words ...string) {
	h.out = append(append(h.out, name...), ':')
	h.column = len(name) + 1
	for i, word := range words {
		if end := h.column + 1 + len(word); i > 0 && end > softLine || end > hardLine {
			h.out = append(h.out, "\r\n"...)
			h.column = 0
		}
		h.out = append(append(h.out, ' '), word...)
		h.column += 1 + len(word)
	}
	h.out = append(h.out, "\r\n"...)
}

// params writes a structured field with its parameters.
func (h *headerWriter) params(name, value string, params []string) {
	words := append([]string{value}, params...)
	for i := range words[:len(words)-1] {
		words[i] += ";"
	}
	h.field(name, words...)
}

// ids writes message ids in brackets. Invalid ones are left out, and so is an empty field.
func (h *headerWriter) ids(name string, ids ...string) {
	var words []string
	for _, id := range ids {
		if isMessageID(id) {
			words = append(words, "<"+id+">")
		}
	}
	if words != nil {
		h.field(name, words...)
	}
}

// isMessageID rejects ids that would not be parsed back unchanged, encoded words included.
func isMessageID(id string) bool {
	switch {
	case id == "", len(id) > maxMessageID, !isPlainASCII(id), strings.ContainsAny(id, " <>"), strings.Contains(id, "=?"):
		return false
	}
	return true
}

// MaxMessageID is the longest Message-ID that a client may reply to, in octets with its brackets.
const MaxMessageID = 250

// ReadMessageID returns the text between the brackets of <left@right>; the brackets are optional.
// False means that it is not valid in a header.
func ReadMessageID(s string) (id string, ok bool) {
	if strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">") {
		s = s[1 : len(s)-1]
	}
	if len(s) > MaxMessageID-len("<>") || strings.Contains(s, ",") || !isMessageID(s) {
		return "", false
	}
	left, right := address.Split(s)
	return s, left != "" && right != ""
}

// chain is the thread up to the original message (RFC 5322 section 3.6.4): its References and then
// itself. Of a long thread the first and the last ids are kept.
func chain(references []string, answered string) []string {
	ids := make([]string, 0, len(references)+1)
	for _, id := range references {
		if id != answered && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if answered != "" {
		ids = append(ids, answered)
	}
	if extra := len(ids) - maxReferences; extra > 0 {
		ids = slices.Delete(ids, 1, 1+extra)
	}
	return ids
}

// mailboxes writes an address list; no field if it is empty.
func (h *headerWriter) mailboxes(name string, list []message.Mailbox) error {
	var words []string
	for _, m := range list {
		addr, ok := address.Sender(m.Email) // an address that is valid in an envelope is valid in a header
		if !ok {
			return fmt.Errorf("compose: %q can't be written as an address", m.Email)
		}
		if words != nil {
			words[len(words)-1] += ","
		}
		addr = address.Written(addr)
		if name := phrase(oneLine(m.Name)); name != nil {
			words = append(words, name...)
			addr = "<" + addr + ">"
		}
		words = append(words, addr)
	}
	if words != nil {
		h.field(name, words...)
	}
	return nil
}
