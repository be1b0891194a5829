package operator

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/address"
)

// queueCommands look into the queue of outgoing mail.
type queueCommands struct {
	List  queueList  `cmd:"" help:"List the mails that wait, the next first."`
	Retry queueRetry `cmd:"" help:"Try a mail now."`
	Drop  queueDrop  `cmd:"" help:"Give a mail up: it failed."`
}

type queueList struct {
	Limit int `help:"How many at most." default:"100"`
}

// Orders and answers of the queue on the admin socket.
type (
	queueOrder struct{ Limit int }
	queuePage  struct {
		Items []mailqueue.Item `json:"items"`
		More  bool             `json:"more"`
	}
	mailOrder struct {
		Inbox string `json:"inbox"`
		ID    int64  `json:"message_id"`
	}
)

// Run implements the command.
func (c *queueList) Run(server *Command) error {
	var queue queuePage
	if err := server.call("/queue/list", queueOrder{c.Limit}, &queue); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "INBOX\tMESSAGE\tDUE\tATTEMPTS\tSTATUS\tRECIPIENTS\tERROR")
	for _, i := range queue.Items {
		due := i.Due.Format(time.RFC3339)
		if i.Running {
			due = "now"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", i.Inbox, i.ID, due, i.Attempts, i.Status, strings.Join(i.Recipients, ","), i.Error)
	}
	if queue.More {
		fmt.Fprintln(w, "...")
	}
	return w.Flush()
}

type queueRetry struct {
	Inbox   string `arg:"" help:"Address of the inbox that sends."`
	Message int64  `arg:"" help:"Id of the message."`
}

// Run implements the command.
func (c *queueRetry) Run(server *Command) error {
	return server.call("/queue/retry", mailOrder{c.Inbox, c.Message}, nil)
}

type queueDrop struct {
	Inbox   string `arg:"" help:"Address of the inbox that sends."`
	Message int64  `arg:"" help:"Id of the message."`
}

// Run implements the command.
func (c *queueDrop) Run(server *Command) error {
	return server.call("/queue/drop", mailOrder{c.Inbox, c.Message}, nil)
}

func (s *Socket) listQueue(ctx context.Context, order queueOrder) (any, error) {
	items, more, err := s.System.Mail.List(ctx, min(max(order.Limit, 1), 10_000))
	return queuePage{items, more}, err
}

func (s *Socket) retryMail(ctx context.Context, order mailOrder) (any, error) {
	return struct{}{}, s.System.Mail.Retry(ctx, canonicalOr(order.Inbox), order.ID)
}

func (s *Socket) dropMail(ctx context.Context, order mailOrder) (any, error) {
	return struct{}{}, s.System.Mail.Drop(ctx, canonicalOr(order.Inbox), order.ID)
}

// canonicalOr is the address as inboxes are found by; what is none stays and is not found.
func canonicalOr(given string) string {
	if canonical, ok := address.Inbox(given); ok {
		return canonical
	}
	return given
}
