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
	IsQueued  bool   `json:"queued"`
	MessageID int64  `json:"message_id"`
	To        string `json:"to"`
}

func (c *toolCall) sendEmail() (toolResult, error) {
	return c.queueMessage(c.args.exceptNames("address"), c.args.getText("to"))
}

// queueMessage submits a message to the service and returns a result that explains its state.
func (c *toolCall) queueMessage(letter any, to string) (toolResult, error) {
	b, err := c.sendOrder("POST", client.InboxPath(c.inboxAddress(), "send"), letter)
	if err != nil {
		return toolResult{}, err
	}
	out := sentAnswer{}
	if json.Unmarshal(b, &out) != nil || out.MessageID == 0 {
		return toolResult{}, malformedResponse(b)
	}
	out.To = to
	structured, err := encodeJSON(out)
	return toolResult{structured, fmt.Sprintf("Queued as message_id %d to %s: accepted, not delivered yet. wait_until_sent returns its final status. Do not send it again.", out.MessageID, singleLine(to))}, err
}

func (c *toolCall) sendReply() (toolResult, error) {
	id := c.args.getNumber("message_id")
	m, err := c.readMessage(c.ctx, id)
	if err != nil {
		return toolResult{}, err
	}
	letter, err := client.Reply(&m.Message)
	switch {
	case errors.Is(err, client.ErrSealed):
		return toolResult{}, newRefusal("Message %d is encrypted, so reply cannot read its subject and sender. Use send_email", id)
	case errors.Is(err, client.ErrNobody):
		return toolResult{}, newRefusal("Message %d has no address to reply to. Use send_email with the recipient's address", id)
	case err != nil:
		return toolResult{}, err
	}
	letter.Body, letter.HTML = c.args.getText("body"), c.args.getText("html")
	letter.Cc, letter.Bcc = append(letter.Cc, c.args.getList("cc")...), c.args.getList("bcc")
	return c.queueMessage(letter, letter.To)
}

// sendOutcome is the result of wait_until_sent.
type sendOutcome struct {
	MessageID  int64             `json:"message_id"`
	SendStatus client.SendStatus `json:"send_status"`
	SendError  *string           `json:"send_error"`
	Recipients []recipientStatus `json:"recipients"`
	TimedOut   bool              `json:"timed_out,omitempty"`
	NextStep   string            `json:"next,omitempty"`
}

// recipientStatus is one recipient of a sent message.
type recipientStatus struct {
	Email  string            `json:"email"`
	Status client.SendStatus `json:"status"`
	Error  *string           `json:"error"`
	MX     *string           `json:"mx"`
	At     *string           `json:"at"`
}

func (c *toolCall) waitUntilSent() (toolResult, error) {
	ctx, cancel := c.waitContext()
	defer cancel()
	id := c.args.getNumber("message_id")
	defer c.reportProgress(ctx, c.waitLimit(), fmt.Sprintf("Waiting for message %d to be delivered", id))()
	looks, enough := c.lookContext()
	defer enough()
	first, err := c.fetchOne(looks, client.Request{Method: "GET", Path: c.messagePath(), Query: url.Values{"fields": {"id,direction,send_status,send_error,recipients"}}})
	if err == nil && first == nil {
		err = malformedResponse([]byte("no message"))
	}
	if err != nil {
		return toolResult{}, err
	}
	seen := &first.Message
	if seen.Direction != "out" {
		return toolResult{}, newRefusal("Message %d was received, not sent. wait_until_sent takes the id of a sent message", id)
	}
	for !seen.SendStatus.Final() && ctx.Err() == nil {
		m, err := c.apiClient.WaitUntilSent(ctx, c.inboxAddress(), id)
		if m != nil {
			seen = m
		}
		if err == nil || ctx.Err() != nil {
			break
		}
		if !isTransient(err) {
			return toolResult{}, err
		}
		sleepContext(ctx, lookAgain)
	}
	switch {
	case seen.SendStatus.Final():
	case c.ctx.Err() != nil:
		return toolResult{}, c.ctx.Err()
	case c.stopContext.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return toolResult{}, refusalError(stoppingMessage)
	}
	return c.outcomeResult(seen)
}

// maxReport limits the text about recipients, in characters.
const maxReport = 4000

func (c *toolCall) outcomeResult(m *client.Message) (toolResult, error) {
	o := sendOutcome{MessageID: m.ID, SendStatus: m.SendStatus, Recipients: []recipientStatus{}}
	var t, said strings.Builder
	fmt.Fprintf(&t, "Message_id %d is %s.", m.ID, m.SendStatus)
	if !m.SendStatus.Final() {
		o.TimedOut = true
		o.NextStep = fmt.Sprintf("The message is still %s: on its way, not lost. Do not send it again. Call wait_until_sent again for message %d.", m.SendStatus, m.ID)
		t.WriteString(" " + o.NextStep)
	}
	if m.SendError != "" {
		text, _ := truncateText(singleLine(m.SendError), 1000)
		o.SendError = &text
		fmt.Fprintf(&said, "%s\n", text)
	}
	for _, r := range m.Recipients {
		one := recipientStatus{Email: r.Email, Status: r.Status, MX: orNull(singleLine(r.MX))}
		if text, _ := truncateText(singleLine(r.Error), 200); text != "" {
			one.Error = &text
		}
		if r.At != nil {
			at := formatTime(*r.At)
			one.At = &at
		}
		o.Recipients = append(o.Recipients, one)
		fmt.Fprintf(&said, "%s: %s\n", singleLine(r.Email), r.Status)
	}
	if said.Len() > 0 {
		text, gone := truncateText(said.String(), maxReport)
		f := newFence(drawMark, text)
		fmt.Fprintf(&t, " "+outsideNotice+"\n\n%s", f.mark, f.wrapText(text))
		if gone {
			fmt.Fprintf(&t, "The recipients are truncated; %s\n", restNotice(c.inboxAddress(), m.ID))
		}
	}
	structured, err := encodeJSON(o)
	if err == nil {
		structured, _ = truncateObject(structured, resultBudget/2)
	}
	return toolResult{structured, t.String()}, err
}
