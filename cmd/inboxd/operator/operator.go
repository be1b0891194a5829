// Package operator implements the commands of `inboxd admin` and the admin socket of the server
// that executes them. It contains no rules of the product.
package operator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Command is the client side: each command is one or more requests over the socket.
type Command struct {
	Data        string `help:"Data folder of the server." default:"./data" placeholder:"DIR"`
	AdminSocket string `help:"Admin socket (default DIR/admin.sock)." placeholder:"PATH"`

	Account struct {
		Create  accountCreate  `cmd:"" help:"Create an account. A generated password is printed."`
		List    accountList    `cmd:"" help:"List the accounts."`
		SetPlan accountSetPlan `cmd:"" help:"Change the plan of an account."`

		Delete    accountDelete    `cmd:"" help:"Delete an account with its inboxes, keys and sessions."`
		ResetLink accountResetLink `cmd:"" help:"Print a link that sets a new password. It works once, within one hour."`
	} `cmd:"" help:"Accounts."`
	DKIM struct {
		Show dkimShow `cmd:"" help:"Print the DNS records of the service domain's DKIM keys, as a zone file."`
	} `cmd:"" help:"Signing of outgoing mail." name:"dkim"`
	Key struct {
		Create keyCreate `cmd:"" help:"Create a key for an account and print it. It is shown only once."`
	} `cmd:"" help:"Keys of accounts."`
	Inbox struct {
		List inboxList `cmd:"" help:"List the inboxes, newest of an account first."`
	} `cmd:"" help:"Inboxes of accounts."`
	Webhook struct {
		List webhookList `cmd:"" help:"List the webhooks with the result of their last attempt."`
	} `cmd:"" help:"Webhooks of accounts."`
	DNS   dnsCommand    `cmd:"" name:"dns" help:"Compare the DNS records of the service domain with the required ones: MX, wildcard, A, PTR, SPF, DKIM, DMARC. Exit 1 if a record is missing or differs."`
	Queue queueCommands `cmd:"" help:"Queue of outgoing messages."`
	Stats statsCommand  `cmd:"" help:"Print the server's figures."`

	Backup backupCommand `cmd:"" help:"Copy the data folder while the server is running."`

	ExplainOTP explainOTP `cmd:"" name:"explain-otp" help:"Print each candidate for the one-time code of a message in a file, with the features that raised or lowered its score, and the answer."`

	patience time.Duration // how long a server may take to respond at all; default 10 s
}

// callServer sends order to the server's socket and decodes the response into result.
func (c *Command) callServer(path string, order, result any) error {
	return c.callWithin(30*time.Second, path, order, result)
}

func (c *Command) callWithin(timeout time.Duration, path string, order, result any) error {
	socket := cmp.Or(c.AdminSocket, filepath.Join(c.Data, "admin.sock"))
	if err := checkPath(socket); err != nil {
		return err
	}
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	// The system accepts connections even for a stopped process. Any response, also a 404, shows
	// that the server runs; after that the order itself may take its time.
	alive, err := postOrder(socket, cmp.Or(c.patience, 10*time.Second), "/", nil)
	if err != nil {
		return err
	}
	_ = alive.Body.Close()
	resp, err := postOrder(socket, timeout, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return errors.New(strings.TrimSpace(string(text)))
	}
	if result == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(result)
}

// postOrder makes one request. Its response must be read within timeout.
func postOrder(socket string, timeout time.Duration, path string, body []byte) (*http.Response, error) {
	client := http.Client{Timeout: timeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	resp, err := client.Post("http://admin"+path, "application/json", bytes.NewReader(body))
	var failed *url.Error
	switch {
	case err == nil:
		return resp, nil
	case errors.As(err, &failed) && failed.Timeout():
		return nil, fmt.Errorf("the server at %s did not respond within %s", socket, timeout)
	}
	return nil, fmt.Errorf("no server responds at %s: %w. Start the server, or give its data folder with --data", socket, err)
}
