package main

import (
	"context"
	"fmt"
	"time"

	"inboxd/internal/account"
)

// Wire shapes of the admin socket.
type (
	keyOrder struct {
		Email         string   `json:"email"`
		Label         string   `json:"label"`
		Scopes        []string `json:"scopes"`
		ExpiresInDays *int     `json:"expires_in_days"`
	}
	newKey struct {
		ID  int64  `json:"id"`
		Key string `json:"key"`
	}
	emailOrder struct {
		Email string `json:"email"`
	}
	deletion struct {
		Done bool `json:"done"`
	}
	resetLink struct {
		Link      string    `json:"link"`
		ExpiresAt time.Time `json:"expires_at"`
	}
)

type accountDelete struct {
	Email string `arg:"" help:"E-mail address of the account."`
}

// Run implements the command. A big account takes several calls; one that is interrupted is
// deleted to its end by the server.
func (c *accountDelete) Run(cli *commandLine) error {
	for done := (deletion{}); !done.Done; {
		if err := cli.Admin.call("/account/delete", emailOrder{c.Email}, &done); err != nil {
			return err
		}
	}
	fmt.Printf("%s is deleted\n", c.Email)
	return nil
}

type accountResetLink struct {
	Email string `arg:"" help:"E-mail address of the account."`
}

// Run implements the command.
func (c *accountResetLink) Run(cli *commandLine) error {
	var link resetLink
	if err := cli.Admin.call("/account/reset-link", emailOrder{c.Email}, &link); err != nil {
		return err
	}
	fmt.Printf("%s\nvalid until %s, once\n", link.Link, link.ExpiresAt.Format(time.RFC3339))
	return nil
}

type keyCreate struct {
	Email         string   `arg:"" help:"E-mail address of the account."`
	Label         string   `help:"What the key is for." default:"made by the operator"`
	Scopes        []string `help:"What it may do." default:"full"`
	ExpiresInDays *int     `help:"30, 90 or 365; left out: never." placeholder:"DAYS"`
}

// Run implements the command. The key is the only line, so that a script can take it.
func (c *keyCreate) Run(cli *commandLine) error {
	var key newKey
	if err := cli.Admin.call("/key/create", keyOrder{c.Email, c.Label, c.Scopes, c.ExpiresInDays}, &key); err != nil {
		return err
	}
	_, err := fmt.Println(key.Key)
	return err
}

func (a *adminSocket) createKey(ctx context.Context, order keyOrder) (any, error) {
	scopes, err := account.ParseScopes(order.Scopes)
	if err != nil {
		return nil, err
	}
	profile, err := a.system.Account(ctx, order.Email)
	if err != nil {
		return nil, err
	}
	issued, err := a.system.IssueKey(ctx, profile.ID, order.Label, scopes, order.ExpiresInDays)
	if err != nil {
		return nil, err
	}
	return newKey{issued.Key.ID, issued.Token}, nil
}

// deleteTimeout is well within what the command waits for an answer.
const deleteTimeout = 10 * time.Second

func (a *adminSocket) deleteAccount(ctx context.Context, order emailOrder) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	err := a.system.DeleteAccount(ctx, order.Email)
	if err != nil && ctx.Err() != nil {
		return deletion{}, nil
	}
	return deletion{Done: err == nil}, err
}

func (a *adminSocket) resetLink(ctx context.Context, order emailOrder) (any, error) {
	token, expires, err := a.system.ResetToken(ctx, order.Email)
	return resetLink{resetURL(a.baseURL, token), expires}, err
}
