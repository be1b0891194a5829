package main

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// adminCommand is the operator's side: each command is one request over the socket.
type adminCommand struct {
	Data        string `help:"Data folder of the server." default:"./data" placeholder:"DIR"`
	AdminSocket string `help:"Admin socket (default DIR/admin.sock)." placeholder:"PATH"`

	Account struct {
		Create  accountCreate  `cmd:"" help:"Make an account and print its password, unless it is given."`
		List    accountList    `cmd:"" help:"List the accounts."`
		SetPlan accountSetPlan `cmd:"" help:"Move an account to another plan."`

		Delete    accountDelete    `cmd:"" help:"Delete an account with its inboxes, keys and sessions."`
		ResetLink accountResetLink `cmd:"" help:"Print a link that sets a new password: for one hour, once."`
	} `cmd:"" help:"Accounts."`
	DKIM struct {
		Show dkimShow `cmd:"" help:"Print the DNS records of the service domain's DKIM keys, as a zone file."`
	} `cmd:"" help:"Signing of outgoing mail." name:"dkim"`
	Key struct {
		Create keyCreate `cmd:"" help:"Make a key of an account and print it: it is shown once."`
	} `cmd:"" help:"Keys of accounts."`
	Queue queueCommands `cmd:"" help:"Outgoing mail that waits."`
	Stats statsCommand  `cmd:"" help:"Print the server's figures."`

	Backup backupCommand `cmd:"" help:"Copy the data folder as it is now, while the server goes on."`

	ExplainOTP explainOTP `cmd:"" name:"explain-otp" help:"Print each candidate for the code of a mail in a file, and what weighed for and against it."`
}

type accountCreate struct {
	Email         string `arg:"" help:"E-mail address to sign in with."`
	Plan          string `help:"Plan (free or paid; default: the server's)." placeholder:"P"`
	PasswordStdin bool   `help:"Read the password from standard input."`
}

// Run implements the command.
func (c *accountCreate) Run(cli *commandLine) error {
	password, made := "", false
	if c.PasswordStdin {
		line, err := io.ReadAll(io.LimitReader(os.Stdin, 4096))
		if err != nil {
			return err
		}
		password = strings.TrimRight(string(line), "\r\n")
	} else {
		password, made = crand.Text(), true
	}
	var account adminAccount
	err := cli.Admin.call("/account/create", createOrder{c.Email, password, c.Plan}, &account)
	if err != nil {
		return err
	}
	fmt.Printf("account %s %s %s\n", account.ID, account.Email, account.Plan)
	if made {
		fmt.Printf("password %s\n", password)
	}
	return nil
}

type accountList struct{}

// Run implements the command.
func (accountList) Run(cli *commandLine) error {
	var accounts []adminAccount
	if err := cli.Admin.call("/account/list", nil, &accounts); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tEMAIL\tPLAN\tINBOXES\tCREATED")
	for _, a := range accounts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", a.ID, a.Email, a.Plan, a.Inboxes, a.CreatedAt.Format(time.RFC3339))
	}
	return w.Flush()
}

type accountSetPlan struct {
	Email string `arg:"" help:"E-mail address of the account."`
	Plan  string `arg:"" help:"free or paid."`
}

// Run implements the command.
func (c *accountSetPlan) Run(cli *commandLine) error {
	if err := cli.Admin.call("/account/set-plan", planOrder{c.Email, c.Plan}, nil); err != nil {
		return err
	}
	fmt.Printf("%s is on the %s plan\n", c.Email, c.Plan)
	return nil
}

type statsCommand struct {
	JSON bool `name:"json" help:"All figures, as JSON."`
}

// Run implements the command.
func (c *statsCommand) Run(cli *commandLine) error {
	if !c.JSON {
		var stats nodeStats
		if err := cli.Admin.call("/stats", nil, &stats); err != nil {
			return err
		}
		return stats.write(os.Stdout, time.Now())
	}
	var stats json.RawMessage
	if err := cli.Admin.call("/stats", nil, &stats); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, stats, "", "  "); err != nil {
		return err
	}
	fmt.Println(out.String())
	return nil
}

// call sends order to the server's socket and reads the answer into result.
func (c *adminCommand) call(path string, order, result any) error {
	return c.callWithin(30*time.Second, path, order, result)
}

func (c *adminCommand) callWithin(timeout time.Duration, path string, order, result any) error {
	socket := c.AdminSocket
	if socket == "" {
		socket = filepath.Join(c.Data, "admin.sock")
	}
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: timeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	resp, err := client.Post("http://admin"+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w", socket, err)
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
