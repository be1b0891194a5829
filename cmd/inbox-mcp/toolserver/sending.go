package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"inboxd/http/client"
)

// sentAnswer is the result of send_email and reply: the message was accepted, not yet delivered.
type sentAnswer struct {
	OK        bool   `json:"ok"`
	Queued    bool   `json:"queued"`
	MessageID int64  `json:"message_id"`
	To        string `json:"to"`
}

func (c *call) sendEmail() (answer, error) {
	return c.queue(c.args.but("address"), c.args.text("to"))
}

// queue submits a message to the service and returns a result that explains its state.
func (c *call) queue(letter any, to string) (answer, error) {
	b, err := c.order("POST", client.InboxPath(c.address(), "send"), letter)
	if err != nil {
		return answer{}, err
	}
	out := sentAnswer{}
	if json.Unmarshal(b, &out) != nil || out.MessageID == 0 {
		return answer{}, strange(b)
	}
	out.To = to
	structured, err := encode(out)
	return answer{structured, fmt.Sprintf("Queued as message_id %d to %s: accepted, not delivered yet. wait_until_sent returns its final status. Do not send it again.", out.MessageID, line(to))}, err
}

func (c *call) reply() (answer, error) {
	id := c.args.number("message_id")
	m, err := c.read(c.ctx, id)
	if err != nil {
		return answer{}, err
	}
	letter, err := client.Reply(&m.Message)
	switch {
	case errors.Is(err, client.ErrSealed):
		return answer{}, refuse("Message %d is encrypted, so reply cannot read its subject and sender. Use send_email", id)
	case errors.Is(err, client.ErrNobody):
		return answer{}, refuse("Message %d has no address to reply to. Use send_email with the recipient's address", id)
	case err != nil:
		return answer{}, err
	}
	letter.Body, letter.HTML = c.args.text("body"), c.args.text("html")
	letter.Cc, letter.Bcc = append(letter.Cc, c.args.list("cc")...), c.args.list("bcc")
	return c.queue(letter, letter.To)
}

// outcome is the result of wait_until_sent.
type outcome struct {
	MessageID  int64             `json:"message_id"`
	SendStatus client.SendStatus `json:"send_status"`
	SendError  *string           `json:"send_error"`
	Recipients []recipient       `json:"recipients"`
	TimedOut   bool              `json:"timed_out,omitempty"`
	Next       string            `json:"next,omitempty"`
}

// recipient is one recipient of a sent message.
type recipient struct {
	Email  string            `json:"email"`
	Status client.SendStatus `json:"status"`
	Error  *string           `json:"error"`
	MX     *string           `json:"mx"`
	At     *string           `json:"at"`
}

func (c *call) waitUntilSent() (answer, error) {
	ctx, cancel := c.waiting()
	defer cancel()
	id := c.args.number("message_id")
	defer c.progressing(ctx, c.limit(), fmt.Sprintf("Waiting for message %d to be delivered", id))()
	looks, enough := c.looking()
	defer enough()
	first, err := c.one(looks, client.Request{Method: "GET", Path: c.messagePath(), Query: url.Values{"fields": {"id,direction,send_status,send_error,recipients"}}})
	if err == nil && first == nil {
		err = strange([]byte("no message"))
	}
	if err != nil {
		return answer{}, err
	}
	seen := &first.Message
	if seen.Direction != "out" {
		return answer{}, refuse("Message %d was received, not sent. wait_until_sent takes the id of a sent message", id)
	}
	for !seen.SendStatus.Final() && ctx.Err() == nil {
		m, err := c.api.WaitUntilSent(ctx, c.address(), id)
		if m != nil {
			seen = m
		}
		if err == nil || ctx.Err() != nil {
			break
		}
		if !passes(err) {
			return answer{}, err
		}
		resting(ctx, lookAgain)
	}
	switch {
	case seen.SendStatus.Final():
	case c.ctx.Err() != nil:
		return answer{}, c.ctx.Err()
	case c.stop.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return answer{}, refusal(stopping)
	}
	return c.outcome(seen)
}

// maxReport limits the text about recipients, in characters.
const maxReport = 4000

func (c *call) outcome(m *client.Message) (answer, error) {
	o := outcome{MessageID: m.ID, SendStatus: m.SendStatus, Recipients: []recipient{}}
	var t, said strings.Builder
	fmt.Fprintf(&t, "Message_id %d is %s.", m.ID, m.SendStatus)
	if !m.SendStatus.Final() {
		o.TimedOut = true
		o.Next = fmt.Sprintf("The message is still %s: on its way, not lost. Do not send it again. Call wait_until_sent again for message %d.", m.SendStatus, m.ID)
		t.WriteString(" " + o.Next)
	}
	if m.SendError != "" {
		text, _ := cut(line(m.SendError), 1000)
		o.SendError = &text
		fmt.Fprintf(&said, "%s\n", text)
	}
	for _, r := range m.Recipients {
		one := recipient{Email: r.Email, Status: r.Status, MX: orNull(line(r.MX))}
		if text, _ := cut(line(r.Error), 200); text != "" {
			one.Error = &text
		}
		if r.At != nil {
			at := stamp(*r.At)
			one.At = &at
		}
		o.Recipients = append(o.Recipients, one)
		fmt.Fprintf(&said, "%s: %s\n", line(r.Email), r.Status)
	}
	if said.Len() > 0 {
		text, gone := cut(said.String(), maxReport)
		f := newFence(drawn, text)
		fmt.Fprintf(&t, " "+outside+"\n\n%s", f.mark, f.around(text))
		if gone {
			fmt.Fprintf(&t, "The recipients are truncated; %s\n", rest(c.address(), m.ID))
		}
	}
	structured, err := encode(o)
	if err == nil {
		structured, _ = within(structured, budget/2)
	}
	return answer{structured, t.String()}, err
}
