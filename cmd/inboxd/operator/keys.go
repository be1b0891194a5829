package operator

import (
	"context"
	"fmt"

	"inboxd/internal/core/account"
)

// Requests and responses about keys on the admin socket.
type (
	keyOrder struct {
		AccountEmail  string   `json:"email"`
		KeyLabel      string   `json:"label"`
		Scopes        []string `json:"scopes"`
		ExpiresInDays *int     `json:"expires_in_days"`
	}
	newKey struct {
		ID  int64  `json:"id"`
		Key string `json:"key"`
	}
)

type keyCreate struct {
	Email         string   `arg:"" help:"E-mail address of the account."`
	Label         string   `help:"What the key is for." default:"made by the operator"`
	Scopes        []string `help:"Permissions of the key: inbox:read, email:send, message:write, inbox:manage, webhooks:manage, domains:manage or full." default:"full"`
	ExpiresInDays *int     `help:"Lifetime of the key: 30, 90 or 365 (default: never expires)." placeholder:"DAYS"`
}

// Run implements the command. It prints only the key, so that a script can use the output.
func (c *keyCreate) Run(server *Command) error {
	var key newKey
	if err := server.callServer("/key/create", keyOrder{c.Email, c.Label, c.Scopes, c.ExpiresInDays}, &key); err != nil {
		return err
	}
	_, err := fmt.Println(key.Key)
	return err
}

func (s *Socket) createKey(ctx context.Context, order keyOrder) (any, error) {
	scopes, err := account.ParseScopes(order.Scopes)
	if err != nil {
		return nil, err
	}
	profile, err := s.System.FindAccount(ctx, order.AccountEmail)
	if err != nil {
		return nil, err
	}
	issued, err := s.System.IssueKey(ctx, &account.Principal{Account: profile.ID}, order.KeyLabel, scopes, order.ExpiresInDays)
	if err != nil {
		return nil, err
	}
	return newKey{issued.Key.ID, issued.Token}, nil
}
