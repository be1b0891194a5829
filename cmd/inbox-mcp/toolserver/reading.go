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

// page is one page of a list of messages.
type page struct {
	Emails  []stored `json:"emails"`
	HasMore bool     `json:"has_more"`
	Damaged []int64  `json:"damaged"`
}

func (c *call) messages(q url.Values) (page, error) {
	b, err := c.api.Do(c.ctx, client.Request{Method: "GET", Path: client.InboxPath(c.address(), "messages"), Query: q})
	if err != nil {
		return page{}, err
	}
	var p page
	if json.Unmarshal(b, &p) != nil || p.Emails == nil {
		return page{}, strange(b)
	}
	return p, nil
}

func (c *call) readMessages() (answer, error) {
	p, err := c.messages(url.Values{"direction": {c.args.text("direction")}, "limit": {fmt.Sprint(maxShown)}})
	if err != nil {
		return answer{}, err
	}
	views := make([]*shown, len(p.Emails))
	for i := range p.Emails {
		views[i] = show(&p.Emails[i])
	}
	return c.messagesAnswer(views, p)
}

// messagesAnswer returns the newest messages that fit.
func (c *call) messagesAnswer(views []*shown, p page) (answer, error) {
	f := newFence(drawn, outsides(views)...)
	items := make([]item, len(views))
	for i, v := range views {
		v.shorten(budget / 2)
		items[i] = v.item(f)
	}
	n := fitting(items, 2000)
	more := p.HasMore || n < len(items)
	structured, err := encode(struct {
		Address  string          `json:"address"`
		Messages json.RawMessage `json:"messages"`
		HasMore  bool            `json:"has_more"`
	}{c.address(), list(items[:n]), more})
	var t strings.Builder
	switch {
	case len(views) == 0:
		t.WriteString(c.nothing())
	default:
		fmt.Fprintf(&t, "%s in %s, newest first. "+outside+"\n\n", counted(n, "message"), c.address(), f.mark)
	}
	for _, it := range items[:n] {
		t.WriteString(it.text)
	}
	t.WriteString(c.leftOut(views[:n], more, p.Damaged))
	return answer{structured, t.String()}, err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c *call) nothing() string {
	switch c.args.text("direction") {
	case "out":
		return fmt.Sprintf("%s has sent nothing.\n", c.address())
	case "all":
		return fmt.Sprintf("There are no messages in %s.\n", c.address())
	}
	return fmt.Sprintf("Nothing was received in %s. Call wait_for_message to wait for mail.\n", c.address())
}

// leftOut returns sentences about what the result omits, and where it can be read.
func (c *call) leftOut(views []*shown, more bool, damaged []int64) string {
	var t strings.Builder
	if len(damaged) > 0 {
		fmt.Fprintf(&t, "The content of %s is damaged on the service's disk: %v.\n", counted(len(damaged), "message"), damaged)
	}
	for _, v := range views {
		if v.TruncatedBody || len(v.cut) > 0 {
			t.WriteString(rest(c.address(), v.ID) + ".\n")
			break
		}
	}
	if more {
		last := ""
		if len(views) > 0 {
			last = fmt.Sprintf("?before=%d", views[len(views)-1].ID)
		}
		fmt.Fprintf(&t, "The list is truncated: older messages are omitted. Delete messages that you no longer need and read again, or call GET %s%s.\n", client.InboxPath(c.address(), "messages"), last)
	}
	return t.String()
}

func outsides(views []*shown) []string {
	out := make([]string, len(views))
	for i, v := range views {
		out[i] = v.outside()
	}
	return out
}
