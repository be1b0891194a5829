package webhook

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// About returns the id of the message that a delivery is about, 0 for none. gone reports whether
// the body already says that the message is deleted.
func (d *Delivery) About() (message int64, gone bool) {
	message = d.Message
	_ = members(d.Body, func(name string, value jsontext.Value) {
		switch name {
		case "message_id":
			message, _ = strconv.ParseInt(string(value), 10, 64)
		case "gone":
			gone = true
		}
	})
	return message, gone
}

// Echoes reports whether a receiver's response body is stored. It may repeat what was sent to the
// receiver.
func (d *Delivery) Echoes() bool {
	return d.Last.Excerpt != "" || slices.ContainsFunc(d.Past, func(t Try) bool { return t.Excerpt != "" })
}

// Forget removes from a delivery what must not be published after its message is deleted. The body
// becomes what Payload makes of the event then, and all stored response bodies are dropped.
func (d *Delivery) Forget() {
	d.Last.Excerpt = ""
	for i := range d.Past {
		d.Past[i].Excerpt = ""
	}
	if _, gone := d.About(); gone {
		return
	}
	o := object{[]byte{'{'}}
	err := members(d.Body, func(name string, value jsontext.Value) {
		o.name(name)
		switch name {
		case "from", "subject", "otp", "to", "calendar_event", "attendee":
			o.b = append(o.b, "null"...)
		case "recipients":
			o.b = append(o.b, anonymous(value)...)
		default:
			o.b = append(o.b, value...)
		}
	})
	if err != nil { // not a body that we wrote: publish nothing of it
		o.b = append(o.b[:0], '{')
		o.text("event", d.Event)
		o.text("inbox", d.Inbox)
	}
	o.flag("gone", true)
	d.Body = append(o.b, '}')
}

// anonymous removes the addresses from a list of recipients.
func anonymous(recipients jsontext.Value) []byte {
	o := object{[]byte{'['}}
	d := jsontext.NewDecoder(bytes.NewReader(recipients))
	for _, err := d.ReadToken(); err == nil && d.PeekKind() == '{'; {
		one, _ := d.ReadValue()
		if len(o.b) > 1 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, '{')
		_ = members(one, func(name string, value jsontext.Value) {
			if o.name(name); name == "email" {
				value = jsontext.Value("null")
			}
			o.b = append(o.b, value...)
		})
		o.b = append(o.b, '}')
	}
	return append(o.b, ']')
}

// members calls each for every member of a JSON object. The value is valid only during the call.
func members(body []byte, each func(name string, value jsontext.Value)) error {
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
