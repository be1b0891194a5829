// Command inbox gives a person or a shell script the inboxes of one key: create one, wait for a
// code, read, send, and follow what happens. It only parses the command line and prints; package
// client makes the calls.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"inboxd/http/client"
	"inboxd/internal/base/version"
)

// Exit codes; exitTimedOut is that of timeout(1).
const (
	exitError    = 1
	exitTimedOut = 124
)

// errTimedOut makes the program exit with exitTimedOut.
var errTimedOut = errors.New("timed out")

const description = `E-mail inboxes on the command line: create one, wait for the code of a message, read, send.

The key comes from INBOX_API_KEY, the server from INBOX_BASE_URL (http://127.0.0.1:8080 by default).

  address=$(inbox new)
  inbox wait $address --otp

Exit status: 0 found or done, 1 error, 124 timed out.`

type commandLine struct {
	JSON    bool             `name:"json" help:"Print JSON as the API returns it, one value a line."`
	Version kong.VersionFlag `help:"Print the version."`

	New  newCommand  `cmd:"" help:"Create an inbox and print its address."`
	Wait waitCommand `cmd:"" help:"Wait for a message or its code, and print it."`
	Read readCommand `cmd:"" help:"List the messages of an inbox, or print one of them."`
	Send sendCommand `cmd:"" help:"Send a message from an inbox and print its id."`
	Tail tailCommand `cmd:"" help:"Print events as they happen: messages that arrive, deliveries, calendar changes."`
}

// session is what a command runs with.
type session struct {
	ctx context.Context
	api *client.Client
	in  io.Reader
	out io.Writer
}

func main() {
	err := runCommand(os.Args[1:], os.Stdin, os.Stdout)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "inbox: "+printable(err.Error()))
	if errors.Is(err, errTimedOut) {
		os.Exit(exitTimedOut)
	}
	os.Exit(exitError)
}

func runCommand(args []string, in io.Reader, out io.Writer) error {
	var cli commandLine
	parser, err := kong.New(&cli, kong.Name("inbox"), kong.Description(description), kong.Vars{"version": version.ProgramLine("inbox")}, kong.Writers(out, os.Stderr))
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		return fmt.Errorf("%w. inbox --help lists the commands", err)
	}
	api, err := client.Open(os.Getenv("INBOX_BASE_URL"), os.Getenv("INBOX_API_KEY"))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return chosen.Run(&cli, &session{ctx, api, in, out})
}

type newCommand struct {
	Prefix    string `placeholder:"NAME" help:"The part before the @. Random by default."`
	Subdomain string `placeholder:"NAME" help:"The name under the service's domain. Random by default."`
	Label     string `placeholder:"TEXT" help:"A display name."`
}

// Run creates the inbox.
func (n *newCommand) Run(cli *commandLine, s *session) error {
	order := client.InboxOrder{Prefix: n.Prefix, Subdomain: n.Subdomain, Label: n.Label}
	raw, err := s.api.Do(s.ctx, client.Request{Method: "POST", Path: "/api/v1/inboxes", In: order})
	if err != nil || cli.JSON {
		return s.printJSON(raw, err)
	}
	var made client.Inbox
	if err := json.Unmarshal(raw, &made); err != nil {
		return err
	}
	if made.Note != "" {
		fmt.Fprintln(os.Stderr, "inbox: "+printable(made.Note))
	}
	return s.printLine(made.Address)
}

type waitCommand struct {
	Address  string `arg:"" help:"Address of the inbox."`
	OTP      bool   `name:"otp" xor:"what" help:"Wait for a one-time code, and print only the code."`
	Link     bool   `xor:"what" help:"Wait for a link that confirms or signs in, and print only the link."`
	From     string `placeholder:"SENDER" help:"Only from this sender: an address, @domain, or a part of an address."`
	Subject  string `placeholder:"TEXT" help:"Only messages whose subject contains this."`
	Verified bool   `help:"Only messages whose sender is verified."`
	After    int64  `placeholder:"ID" help:"Only messages with a higher id. By default, messages of the last 15 minutes count."`
	Timeout  uint   `default:"60" placeholder:"SECONDS" help:"How long to wait, 60 by default. Then the exit status is 124."`
}

// window is the maximum age of messages that were there before a wait.
const window = 15 * time.Minute

// Help is shown after the description of the command.
func (*waitCommand) Help() string {
	return `A message that is already there is printed at once: the newest code, or the oldest message. It is then
marked as read, and a wait skips what is read, so that two waits never print the same code.

  inbox wait $address --otp --from @example.com --timeout 30`
}

// Run waits for the message and prints what is asked for.
func (w *waitCommand) Run(cli *commandLine, s *session) error {
	ctx, cancel := context.WithTimeout(s.ctx, time.Duration(w.Timeout)*time.Second)
	defer cancel()
	wait := client.Wait{After: w.After, From: w.From, Subject: w.Subject, Verified: w.Verified, OTP: w.OTP, Claim: true}
	if w.After == 0 {
		wait.Since = time.Now().Add(-window)
	}
	if w.Link {
		wait.Match = func(m *client.Message) bool { return m.VerificationLink != "" }
	}
	m, err := s.api.WaitForMessage(ctx, w.Address, wait)
	var vain *client.NoCodeError
	switch {
	case err != nil && s.ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.As(err, &vain):
		return fmt.Errorf("%w after %d s: %w", errTimedOut, w.Timeout, err)
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: no matching message arrived within %d s", errTimedOut, w.Timeout)
	case err != nil:
		return err
	case cli.JSON:
		return s.readMessage(w.Address, m.ID, true)
	case w.OTP:
		return s.printLine(m.OTPCode)
	case w.Link:
		return s.printLine(m.VerificationLink)
	}
	return s.printMessage(m)
}

type readCommand struct {
	Address string `arg:"" help:"Address of the inbox."`
	ID      int64  `arg:"" optional:"" help:"Id of the message to print. Without it, the newest messages are listed."`
	Limit   int    `default:"20" placeholder:"N" help:"How many messages are listed, 20 by default, at most 200."`
	Sent    bool   `help:"List sent messages."`
}

// Run prints a message or a list. It marks nothing as read.
func (r *readCommand) Run(cli *commandLine, s *session) error {
	if r.ID != 0 {
		return s.readMessage(r.Address, r.ID, cli.JSON)
	}
	direction := "in"
	if r.Sent {
		direction = "out"
	}
	query := map[string][]string{"limit": {fmt.Sprint(r.Limit)}, "direction": {direction}}
	raw, err := s.api.Do(s.ctx, client.Request{Method: "GET", Path: client.InboxPath(r.Address, "messages"), Query: query})
	if err != nil || cli.JSON {
		return s.printJSON(raw, err)
	}
	var page client.MessagePage
	if err := json.Unmarshal(raw, &page); err != nil {
		return err
	}
	for _, m := range page.Emails {
		state := m.OTPCode
		if r.Sent {
			state = string(m.SendStatus)
		}
		if err := s.printLine(fmt.Sprintf("%d\t%s\t%s\t%s\t%s", m.ID, formatTime(m.ReceivedAt), m.From.Email, singleLine(m.Subject), state)); err != nil {
			return err
		}
	}
	return nil
}

type sendCommand struct {
	From    string   `arg:"" help:"Address of the inbox that sends."`
	To      string   `arg:"" help:"The recipient."`
	Subject string   `placeholder:"TEXT" help:"Subject."`
	Cc      []string `placeholder:"ADDRESS" help:"More recipients."`
	Body    *string  `placeholder:"TEXT" help:"Text of the message; without this flag, it is read from standard input."`
	Wait    bool     `help:"Wait until the message is delivered. The exit status is 1 if delivery fails."`
	Timeout uint     `default:"60" placeholder:"SECONDS" help:"How long --wait waits, 60 by default. Then the exit status is 124, and the message is still queued."`
}

// Run sends the message.
func (c *sendCommand) Run(cli *commandLine, s *session) error {
	letter := client.Letter{To: c.To, Subject: c.Subject, Cc: c.Cc}
	if c.Body != nil {
		letter.Body = *c.Body
	} else {
		text, err := io.ReadAll(s.in)
		if err != nil {
			return err
		}
		letter.Body = string(text)
	}
	id, err := s.api.Send(s.ctx, c.From, letter, client.SendOptions{})
	if err != nil {
		return err
	}
	if c.Wait {
		err = c.waitUntilSent(s, id)
	}
	if cli.JSON {
		return errors.Join(err, s.readMessage(c.From, id, true))
	}
	return errors.Join(err, s.printLine(fmt.Sprint(id)))
}

func (c *sendCommand) waitUntilSent(s *session, id int64) error {
	ctx, cancel := context.WithTimeout(s.ctx, time.Duration(c.Timeout)*time.Second)
	defer cancel()
	m, err := s.api.WaitUntilSent(ctx, c.From, id)
	switch {
	case err != nil && s.ctx.Err() == nil && ctx.Err() != nil:
		return fmt.Errorf("%w: message %d is still queued after %d s, do not send it again", errTimedOut, id, c.Timeout)
	case err == nil && !m.SendStatus.Delivered():
		return fmt.Errorf("message %d was not delivered: %s", id, m.SendError)
	}
	return err
}

type tailCommand struct {
	Address string `arg:"" optional:"" help:"Only events of this inbox. Without it, of all inboxes of the key."`
}

// Run prints events until it is interrupted.
func (c *tailCommand) Run(cli *commandLine, s *session) error {
	for e, err := range s.api.Follow(s.ctx, client.EventQuery{Inbox: c.Address, After: client.Now}) {
		switch {
		case s.ctx.Err() != nil:
			return nil
		case err == nil && cli.JSON:
			err = s.printJSON(e.Raw, nil)
		case err == nil:
			err = s.printLine(eventLine(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func eventLine(e client.Event) string {
	at := e.ReceivedAt
	if at.IsZero() {
		at = e.At
	}
	fields := []string{formatTime(at), e.Name, e.Inbox}
	if e.MessageID != 0 {
		fields = append(fields, fmt.Sprint(e.MessageID), e.From, singleLine(e.Subject), e.OTP+e.SendStatus)
	} else if e.Meeting != nil {
		fields = append(fields, singleLine(e.Meeting.Title))
	}
	return strings.Join(fields, "\t")
}

// readMessage reads a message and prints it.
func (s *session) readMessage(address string, id int64, asJSON bool) error {
	raw, err := s.api.Do(s.ctx, client.Request{Method: "GET", Path: client.InboxPath(address, "messages", fmt.Sprint(id))})
	if err != nil {
		return err
	}
	var out struct{ Email json.RawMessage }
	if err := json.Unmarshal(raw, &out); err != nil || asJSON {
		return s.printJSON(out.Email, err)
	}
	var m client.Message
	if err := json.Unmarshal(out.Email, &m); err != nil {
		return err
	}
	return s.printMessage(&m)
}

func (s *session) printMessage(m *client.Message) error {
	var b strings.Builder
	to := make([]string, len(m.To))
	for i, box := range m.To {
		to[i] = formatMailbox(box)
	}
	for _, line := range [][2]string{
		{"Id", fmt.Sprint(m.ID)}, {"Date", formatTime(m.ReceivedAt)}, {"From", formatMailbox(m.From)},
		{"To", strings.Join(to, ", ")}, {"Subject", m.Subject}, {"Code", m.OTPCode}, {"Link", m.VerificationLink}, {"Status", string(m.SendStatus)}, {"Error", m.SendError},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], singleLine(line[1]))
		}
	}
	for _, f := range m.Attachments {
		fmt.Fprintf(&b, "Attachment: %s (%s, %d bytes)\n", singleLine(f.Filename), singleLine(f.ContentType), f.SizeBytes)
	}
	return s.printLine(b.String() + "\n" + strings.TrimRight(m.Body+m.Note, "\n"))
}

// printLine prints text for people.
func (s *session) printLine(text string) error {
	_, err := fmt.Fprintln(s.out, printable(text))
	return err
}

// printJSON prints a value on one line, unless there is an error.
func (s *session) printJSON(raw json.RawMessage, err error) error {
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, line.String())
	return err
}
