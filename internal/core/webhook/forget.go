package webhook

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// AboutMessage returns the id of the message that a delivery is about, 0 for none. gone reports whether
// the body already says that the message is deleted.
func (d *Delivery) AboutMessage() (message int64, gone bool) {
	message = d.MessageID
	_ = eachMember(d.Body, func(name string, value jsontext.Value) {
		switch name {
		case "message_id":
			message, _ = strconv.ParseInt(string(value), 10, 64)
		case "gone":
			gone = true
		}
	})
	return message, gone
}

// StoresResponse reports whether a receiver's response body is stored. It may repeat what was sent
// to the receiver.
func (d *Delivery) StoresResponse() bool {
	return d.LastAttempt.BodyExcerpt != "" || slices.ContainsFunc(d.PastAttempts, func(t StoredAttempt) bool { return t.BodyExcerpt != "" })
}

// RedactDeleted removes from a delivery what must not be published after its message is deleted.
// The body becomes what Payload makes of the event then, and all stored response bodies are
// dropped.
func (d *Delivery) RedactDeleted() {
	d.LastAttempt.BodyExcerpt = ""
	for i := range d.PastAttempts {
		d.PastAttempts[i].BodyExcerpt = ""
	}
	if _, gone := d.AboutMessage(); gone {
		return
	}
	o := jsonObject{[]byte{'{'}}
	err := eachMember(d.Body, func(name string, value jsontext.Value) {
		o.beginMember(name)
		switch name {
		case "from", "subject", "otp", "to", "calendar_event", "attendee":
			o.b = append(o.b, "null"...)
		case "recipients":
			o.b = append(o.b, withoutAddresses(value)...)
		default:
			o.b = append(o.b, value...)
		}
	})
	if err != nil { // not a body that we wrote: publish nothing of it
		o.b = append(o.b[:0], '{')
		o.writeText("event", d.Event)
		o.writeText("inbox", d.Inbox)
	}
	o.writeFlag("gone", true)
	d.Body = append(o.b, '}')
}

// withoutAddresses removes the addresses from a list of recipients.
func withoutAddresses(recipients jsontext.Value) []byte {
	o := jsonObject{[]byte{'['}}
	d := jsontext.NewDecoder(bytes.NewReader(recipients))
	for _, err := d.ReadToken(); err == nil && d.PeekKind() == '{'; {
		one, _ := d.ReadValue()
		if len(o.b) > 1 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, '{')
		_ = eachMember(one, func(name string, value jsontext.Value) {
			if o.beginMember(name); name == "email" {
				value = jsontext.Value("null")
			}
			o.b = append(o.b, value...)
		})
		o.b = append(o.b, '}')
	}
	return append(o.b, ']')
}

// eachMember calls each for every member of a JSON object. The value is valid only during the call.
func eachMember(body []byte, each func(name string, value jsontext.Value)) error {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		each(key, value)
	}
	_, err := d.ReadToken()
	return err
}
