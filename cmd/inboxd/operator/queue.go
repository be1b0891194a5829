package operator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
)

// queueCommands inspect and change the queue of outgoing messages.
type queueCommands struct {
	List  queueList  `cmd:"" help:"List the waiting messages, next attempt first."`
	Retry queueRetry `cmd:"" help:"Attempt to deliver a message now."`
	Drop  queueDrop  `cmd:"" help:"Stop delivering a message and mark it as failed."`

	Release queueRelease `cmd:"" help:"Send the messages and webhooks that a restored backup holds. The original server may have sent some of them."`
}

type queueList struct {
	listFormat
	Limit int `help:"Maximum number of messages to list." default:"100"`
}

// Requests and responses of the queue on the admin socket.
type (
	queueOrder struct{ Limit int }
	queuePage  struct {
		QueueItems []mailqueue.QueueItem `json:"items"`
		HasMore    bool                  `json:"more"`
	}
	mailOrder struct {
		InboxAddress string `json:"inbox"`
		ID           int64  `json:"message_id"`
	}
)

// Run implements the command.
func (c *queueList) Run(server *Command) error {
	var queue queuePage
	if err := server.callServer("/queue/list", queueOrder{c.Limit}, &queue); err != nil || c.JSON {
		return cmp.Or(err, printLines(queue.QueueItems))
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "INBOX\tMESSAGE\tDUE\tATTEMPTS\tSTATUS\tRECIPIENTS\tERROR")
	for _, i := range queue.QueueItems {
		due := i.NextAttemptAt.Format(time.RFC3339)
		if i.IsRunning {
			due = "now"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", i.InboxAddress, i.ID, due, i.AttemptCount, i.Status, strings.Join(i.WaitingRecipients, ","), i.LastError)
	}
	if queue.HasMore {
		fmt.Fprintln(w, "...")
	}
	return w.Flush()
}

type queueRetry struct {
	Inbox   string `arg:"" help:"Address of the sending inbox."`
	Message int64  `arg:"" help:"Id of the message."`
}

// Run implements the command.
func (c *queueRetry) Run(server *Command) error {
	return server.callServer("/queue/retry", mailOrder{c.Inbox, c.Message}, nil)
}

type queueDrop struct {
	Inbox   string `arg:"" help:"Address of the sending inbox."`
	Message int64  `arg:"" help:"Id of the message."`
}

// Run implements the command.
func (c *queueDrop) Run(server *Command) error {
	return server.callServer("/queue/drop", mailOrder{c.Inbox, c.Message}, nil)
}

type queueRelease struct{}

// releaseResult is the response to a release.
type releaseResult struct {
	WasHeld         bool `json:"held"` // the queue was held before
	WaitingMessages int  `json:"mail"` // number of messages in the queue
}

// Run implements the command.
func (queueRelease) Run(server *Command) error {
	var result releaseResult
	if err := server.callServer("/queue/release", nil, &result); err != nil {
		return err
	}
	if !result.WasHeld {
		fmt.Println("nothing was held")
		return nil
	}
	fmt.Printf("released: %d waiting messages, and webhooks\n", result.WaitingMessages)
	return nil
}

// releaseQueue removes the mark on disk before it releases the queue, so that a released queue is
// not held again after a restart.
func (s *Socket) releaseQueue(context.Context, struct{}) (any, error) {
	result := releaseResult{WasHeld: s.System.IsOutgoingHeld(), WaitingMessages: s.System.MailQueue.ReadStats().QueueDepth}
	if !result.WasHeld {
		return result, nil
	}
	if err := s.Store.ReleaseHold(); err != nil {
		return nil, err
	}
	s.System.ReleaseOutgoing()
	slog.Info("outgoing messages and webhooks released", "mail", result.WaitingMessages)
	return result, nil
}

func (s *Socket) listQueue(ctx context.Context, order queueOrder) (any, error) {
	items, more, err := s.System.MailQueue.ListItems(ctx, min(max(order.Limit, 1), 10_000))
	return queuePage{items, more}, err
}

func (s *Socket) retryMail(ctx context.Context, order mailOrder) (any, error) {
	if s.System.IsOutgoingHeld() {
		return nil, fault.New(fault.Refused, "The queue of a restored backup is held. Release it with inboxd admin queue release")
	}
	return struct{}{}, s.System.MailQueue.RetryNow(ctx, canonicalOr(order.InboxAddress), order.ID)
}

func (s *Socket) dropMail(ctx context.Context, order mailOrder) (any, error) {
	return struct{}{}, s.System.MailQueue.DropMessage(ctx, canonicalOr(order.InboxAddress), order.ID)
}

// canonicalOr returns the canonical form of an address. An invalid one is returned as given, and
// will not be found.
func canonicalOr(given string) string {
	if canonical, ok := address.CanonicalInbox(given); ok {
		return canonical
	}
	return given
}
