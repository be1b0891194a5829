package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"inboxd/internal/core/inbox"
)

// Requests and responses about inboxes and webhooks on the admin socket.
type (
	inboxesOrder struct {
		AccountEmail string `json:"email"`
		PageCursor   string `json:"cursor"`
	}
	inboxesPage struct {
		Inboxes        []inboxRow `json:"inboxes"`
		DamagedInboxes []string   `json:"damaged"`
		NextCursor     string     `json:"next"`
	}
	inboxRow struct {
		Address       string    `json:"address"`
		Label         string    `json:"label"`
		MessageCount  int       `json:"messages"`
		UnreadCount   int       `json:"unread"`
		TotalBytes    int64     `json:"bytes"`
		LastMessageAt time.Time `json:"last_message_at,omitzero"`
		IsEncrypted   bool      `json:"encrypted"`
		CreatedAt     time.Time `json:"created_at"`
	}
	webhookRow struct {
		ID           int64     `json:"id"`
		Event        string    `json:"event"`
		InboxAddress string    `json:"inbox"`
		URL          string    `json:"url"`
		LastAt       time.Time `json:"last_at,omitzero"`
		LastStatus   int       `json:"last_status"`
	}
)

// listFormat is the form in which a list is printed.
type listFormat struct {
	JSON bool `name:"json" help:"Print one JSON object a line instead of a table."`
}

// printLines prints a JSON object a line, which programs can read while it is printed.
func printLines[T any](rows []T) error {
	out := json.NewEncoder(os.Stdout)
	for i := range rows {
		if err := out.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// printHead prints the head of a table.
func (f listFormat) printHead(w io.Writer, columns string) {
	if !f.JSON {
		fmt.Fprintln(w, columns)
	}
}

// Rows as JSON, with their account.
type (
	inboxLine struct {
		Account string `json:"account"`
		inboxRow
	}
	damagedLine struct {
		Account string `json:"account"`
		Address string `json:"address"`
		Damaged bool   `json:"damaged"`
	}
	webhookLine struct {
		Account string `json:"account"`
		webhookRow
	}
)

// printJSON prints a page as JSON lines.
func (p *inboxesPage) printJSON(email string) error {
	for _, i := range p.Inboxes {
		if err := printLines([]inboxLine{{email, i}}); err != nil {
			return err
		}
	}
	for _, address := range p.DamagedInboxes {
		if err := printLines([]damagedLine{{email, address, true}}); err != nil {
			return err
		}
	}
	return nil
}

type inboxList struct {
	listFormat
	Email string `arg:"" optional:"" help:"E-mail address of the account (default: all accounts)."`
}

// Run implements the command.
func (c *inboxList) Run(server *Command) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	c.printHead(w, "ADDRESS\tACCOUNT\tMESSAGES\tUNREAD\tSIZE\tLAST MAIL\tENCRYPTED\tLABEL")
	err := server.forEachAccount(c.Email, func(email string) error {
		for order := (inboxesOrder{AccountEmail: email}); ; {
			var page inboxesPage
			if err := server.callServer("/inbox/list", order, &page); err != nil {
				return err
			}
			if c.JSON {
				if err := page.printJSON(email); err != nil {
					return err
				}
				page.Inboxes, page.DamagedInboxes = nil, nil
			}
			for _, i := range page.Inboxes {
				fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%t\t%s\n", i.Address, email, i.MessageCount, i.UnreadCount, ByteText(i.TotalBytes), formatTime(i.LastMessageAt), i.IsEncrypted, i.Label)
			}
			for _, address := range page.DamagedInboxes {
				fmt.Fprintf(w, "%s\t%s\tdamaged: inboxd check\n", address, email)
			}
			if order.PageCursor = page.NextCursor; order.PageCursor == "" {
				return w.Flush()
			}
		}
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

type webhookList struct {
	listFormat
	Email string `arg:"" optional:"" help:"E-mail address of the account (default: all accounts)."`
}

// Run implements the command. Secrets are not shown.
func (c *webhookList) Run(server *Command) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	c.printHead(w, "ID\tACCOUNT\tEVENT\tINBOX\tLAST CALL\tSTATUS\tURL")
	err := server.forEachAccount(c.Email, func(email string) error {
		var rows []webhookRow
		if err := server.callServer("/webhook/list", emailOrder{email}, &rows); err != nil {
			return err
		}
		for _, h := range rows {
			if c.JSON {
				if err := printLines([]webhookLine{{email, h}}); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", h.ID, email, h.Event, orDash(h.InboxAddress), formatTime(h.LastAt), webhookStatus(h), h.URL)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// forEachAccount calls do for one account, or for all.
func (c *Command) forEachAccount(email string, do func(email string) error) error {
	if email != "" {
		return do(email)
	}
	var accounts []accountRow
	if err := c.callServer("/account/list", nil, &accounts); err != nil {
		return err
	}
	for _, a := range accounts {
		if err := do(a.AccountEmail); err != nil {
			return err
		}
	}
	return nil
}

// webhookStatus returns the HTTP status of the last call of a webhook as text.
func webhookStatus(h webhookRow) string {
	switch {
	case h.LastAt.IsZero():
		return "-"
	case h.LastStatus == 0:
		return "no answer"
	}
	return strconv.Itoa(h.LastStatus)
}

func formatTime(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// inboxesAPage limits how many inboxes one request reads, because each is loaded into memory.
const inboxesAPage = 500

func (s *Socket) listInboxes(ctx context.Context, order inboxesOrder) (any, error) {
	profile, err := s.System.FindAccount(ctx, order.AccountEmail)
	if err != nil {
		return nil, err
	}
	found, err := s.System.ListInboxes(ctx, profile.ID, order.PageCursor, inboxesAPage, func(*inbox.View) bool { return true })
	page := inboxesPage{DamagedInboxes: found.DamagedAddresses, NextCursor: found.NextCursor}
	for _, v := range found.Views {
		row := inboxRow{Address: v.Address, Label: v.Label, TotalBytes: v.Bytes, IsEncrypted: v.Encrypted, CreatedAt: v.CreatedAt}
		row.MessageCount, row.UnreadCount, row.LastMessageAt = v.MessageCounts(time.Now())
		page.Inboxes = append(page.Inboxes, row)
	}
	return page, err
}

func (s *Socket) listWebhooks(ctx context.Context, order emailOrder) (any, error) {
	profile, err := s.System.FindAccount(ctx, order.AccountEmail)
	if err != nil {
		return nil, err
	}
	rows := []webhookRow{}
	hooks, err := s.System.ListWebhooks(ctx, profile.ID)
	for _, h := range hooks {
		rows = append(rows, webhookRow{h.ID, h.EventFilter, h.InboxFilter, h.URL, h.LastAt, h.LastStatus})
	}
	return rows, err
}
