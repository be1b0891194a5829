package toolserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"inboxd/http/client"
)

// maxShown limits the messages of one result.
const maxShown = 20

// messagePage is one page of a list of messages.
type messagePage struct {
	Emails     []apiMessage `json:"emails"`
	HasMore    bool         `json:"has_more"`
	DamagedIDs []int64      `json:"damaged"`
}

func (c *toolCall) fetchMessages(q url.Values) (messagePage, error) {
	b, err := c.apiClient.Do(c.ctx, client.Request{Method: "GET", Path: client.InboxPath(c.inboxAddress(), "messages"), Query: q})
	if err != nil {
		return messagePage{}, err
	}
	var p messagePage
	if json.Unmarshal(b, &p) != nil || p.Emails == nil {
		return messagePage{}, malformedResponse(b)
	}
	return p, nil
}

func (c *toolCall) readMessages() (toolResult, error) {
	p, err := c.fetchMessages(url.Values{"direction": {c.args.getText("direction")}, "limit": {fmt.Sprint(maxShown)}})
	if err != nil {
		return toolResult{}, err
	}
	views := make([]*messageView, len(p.Emails))
	for i := range p.Emails {
		views[i] = newMessageView(&p.Emails[i])
	}
	return c.messagesAnswer(views, p)
}

// messagesAnswer returns the newest messages that fit.
func (c *toolCall) messagesAnswer(views []*messageView, p messagePage) (toolResult, error) {
	f := newFence(drawMark, outsideTexts(views)...)
	items := make([]listItem, len(views))
	for i, v := range views {
		v.shortenTo(resultBudget / 2)
		items[i] = v.toItem(f)
	}
	n := countFitting(items, 2000)
	more := p.HasMore || n < len(items)
	structured, err := encodeJSON(struct {
		Address  string          `json:"address"`
		Messages json.RawMessage `json:"messages"`
		HasMore  bool            `json:"has_more"`
	}{c.inboxAddress(), joinItems(items[:n]), more})
	var t strings.Builder
	switch {
	case len(views) == 0:
		t.WriteString(c.nothingFound())
	default:
		fmt.Fprintf(&t, "%s in %s, newest first. "+outsideNotice+"\n\n", countNoun(n, "message"), c.inboxAddress(), f.mark)
	}
	for _, it := range items[:n] {
		t.WriteString(it.text)
	}
	t.WriteString(c.leftOut(views[:n], more, p.DamagedIDs))
	return toolResult{structured, t.String()}, err
}

func countNoun(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c *toolCall) nothingFound() string {
	switch c.args.getText("direction") {
	case "out":
		return fmt.Sprintf("%s has sent nothing.\n", c.inboxAddress())
	case "all":
		return fmt.Sprintf("There are no messages in %s.\n", c.inboxAddress())
	}
	return fmt.Sprintf("Nothing was received in %s. Call wait_for_message to wait for mail.\n", c.inboxAddress())
}

// leftOut returns sentences about what the result omits, and where it can be read.
func (c *toolCall) leftOut(views []*messageView, more bool, damaged []int64) string {
	var t strings.Builder
	if len(damaged) > 0 {
		fmt.Fprintf(&t, "The content of %s is damaged on the service's disk: %v.\n", countNoun(len(damaged), "message"), damaged)
	}
	for _, v := range views {
		if v.TruncatedBody || len(v.cutParts) > 0 {
			t.WriteString(restNotice(c.inboxAddress(), v.ID) + ".\n")
			break
		}
	}
	if more {
		last := ""
		if len(views) > 0 {
			last = fmt.Sprintf("?before=%d", views[len(views)-1].ID)
		}
		fmt.Fprintf(&t, "The list is truncated: older messages are omitted. Delete messages that you no longer need and read again, or call GET %s%s.\n", client.InboxPath(c.inboxAddress(), "messages"), last)
	}
	return t.String()
}

func outsideTexts(views []*messageView) []string {
	out := make([]string, len(views))
	for i, v := range views {
		out[i] = v.outsideText()
	}
	return out
}
