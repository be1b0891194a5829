package operator

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"inboxd/internal/core/account"
)

// Requests and responses about accounts on the admin socket.
type (
	createOrder struct {
		AccountEmail string `json:"email"`
		Password     string `json:"password"`
		Plan         string `json:"plan,omitempty"`
	}
	planOrder struct {
		AccountEmail string `json:"email"`
		Plan         string `json:"plan"`
	}
	accountRow struct {
		ID           string    `json:"id"`
		AccountEmail string    `json:"email"`
		Plan         string    `json:"plan"`
		InboxCount   int64     `json:"inboxes"`
		CreatedAt    time.Time `json:"created_at"`
	}
	emailOrder struct {
		AccountEmail string `json:"email"`
	}
	deletionResult struct {
		IsDone bool `json:"done"`
	}
	resetLink struct {
		Link      string    `json:"link"`
		ExpiresAt time.Time `json:"expires_at"`
	}
)

func accountRowOf(p account.Profile) accountRow {
	return accountRow{p.ID.String(), p.Email, string(p.Plan), p.LiveInboxes, p.CreatedAt}
}

type accountCreate struct {
	Email         string `arg:"" help:"E-mail address to log in with."`
	Plan          string `help:"Plan (free or paid; default: the server's)." placeholder:"P"`
	PasswordStdin bool   `help:"Read the password from standard input."`
}

// Run implements the command.
func (c *accountCreate) Run(server *Command) error {
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
	var account accountRow
	err := server.callServer("/account/create", createOrder{c.Email, password, c.Plan}, &account)
	if err != nil {
		return err
	}
	fmt.Printf("account %s %s %s\n", account.ID, account.AccountEmail, account.Plan)
	if made {
		fmt.Printf("password %s\n", password)
	}
	return nil
}

type accountList struct{ listFormat }

// Run implements the command.
func (c *accountList) Run(server *Command) error {
	var accounts []accountRow
	if err := server.callServer("/account/list", nil, &accounts); err != nil || c.JSON {
		return cmp.Or(err, printLines(accounts))
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tEMAIL\tPLAN\tINBOXES\tCREATED")
	for _, a := range accounts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", a.ID, a.AccountEmail, a.Plan, a.InboxCount, a.CreatedAt.Format(time.RFC3339))
	}
	return w.Flush()
}

type accountSetPlan struct {
	Email string `arg:"" help:"E-mail address of the account."`
	Plan  string `arg:"" help:"free or paid."`
}

// Run implements the command.
func (c *accountSetPlan) Run(server *Command) error {
	if err := server.callServer("/account/set-plan", planOrder{c.Email, c.Plan}, nil); err != nil {
		return err
	}
	fmt.Printf("%s is on the %s plan\n", c.Email, c.Plan)
	return nil
}

type accountDelete struct {
	Email string `arg:"" help:"E-mail address of the account."`
}

// Run implements the command. Deleting a big account takes several requests. If the command is
// interrupted, the server completes the deletion.
func (c *accountDelete) Run(server *Command) error {
	for done := (deletionResult{}); !done.IsDone; {
		if err := server.callServer("/account/delete", emailOrder{c.Email}, &done); err != nil {
			return err
		}
	}
	fmt.Printf("%s was deleted\n", c.Email)
	return nil
}

type accountResetLink struct {
	Email string `arg:"" help:"E-mail address of the account."`
}

// Run implements the command.
func (c *accountResetLink) Run(server *Command) error {
	var link resetLink
	if err := server.callServer("/account/reset-link", emailOrder{c.Email}, &link); err != nil {
		return err
	}
	fmt.Printf("%s\nvalid until %s, once\n", link.Link, link.ExpiresAt.Format(time.RFC3339))
	return nil
}

func (s *Socket) createAccount(ctx context.Context, order createOrder) (any, error) {
	plan := s.System.NewPlan
	if order.Plan != "" {
		var err error
		if plan, err = account.ParsePlan(order.Plan); err != nil {
			return nil, err
		}
	}
	profile, err := s.System.OpenAccount(ctx, order.AccountEmail, order.Password, plan)
	if err != nil {
		return nil, err
	}
	return accountRowOf(profile), nil
}

// listAccounts returns all accounts, oldest first.
func (s *Socket) listAccounts(context.Context, struct{}) (any, error) {
	out := []accountRow{}
	var after account.ID
	for {
		page, err := s.System.ListProfiles(after, 1000)
		if err != nil || len(page) == 0 {
			slices.SortFunc(out, func(a, b accountRow) int { return a.CreatedAt.Compare(b.CreatedAt) })
			return out, err
		}
		for _, p := range page {
			out = append(out, accountRowOf(p))
		}
		after = page[len(page)-1].ID
	}
}

func (s *Socket) setPlan(ctx context.Context, order planOrder) (any, error) {
	plan, err := account.ParsePlan(order.Plan)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.System.SetPlan(ctx, order.AccountEmail, plan)
}

// deleteTimeout is well below the time that the command waits for a response.
const deleteTimeout = 10 * time.Second

func (s *Socket) deleteAccount(ctx context.Context, order emailOrder) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	err := s.System.DeleteAccount(ctx, order.AccountEmail)
	if err != nil && ctx.Err() != nil {
		return deletionResult{}, nil
	}
	return deletionResult{IsDone: err == nil}, err
}

func (s *Socket) resetLink(ctx context.Context, order emailOrder) (any, error) {
	token, expires, err := s.System.ResetToken(ctx, order.AccountEmail)
	return resetLink{ResetURL(s.BaseURL, token), expires}, err
}
