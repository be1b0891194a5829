package main

import (
	"context"
	"fmt"
	"time"

	"inboxd/actors"
	"inboxd/cmd/inboxd/operator"
)

// mailReset sends a password-reset link through the normal mail queue. n is complete before anybody
// can request a reset.
func (n *node) mailReset(ctx context.Context, email, token string, expires time.Time) error {
	return n.system.SendNotice(ctx, actors.ServiceNotice{
		To: email, Subject: "Set a new password",
		Text: fmt.Sprintf("Somebody requested a new password for the account %s.\n\nTo set one, open this link. It works once, until %s UTC:\n\n%s\n\n"+
			"If you did not request it, ignore this message. Your password stays unchanged.\n",
			email, expires.UTC().Format("15:04 on 2 January 2006"), operator.ResetURL(n.baseURL(), token)),
	})
}

// mailVerification sends the link that verifies a sign-in address.
func (n *node) mailVerification(ctx context.Context, email, token string, expires time.Time) error {
	return n.system.SendNotice(ctx, actors.ServiceNotice{
		To: email, Subject: "Verify your address",
		Text: fmt.Sprintf("An account was created with the address %s. To verify the address, open this link. It works once, until %s UTC:\n\n%s\n\n"+
			"If you did not create it, do not open the link. Without it, the account cannot send messages to others. To take over the account, set a new password; "+
			"that ends all sessions and keys of the person who created it:\n\n%s\n",
			email, expires.UTC().Format("15:04 on 2 January 2006"), operator.VerifyURL(n.baseURL(), token), n.baseURL()+"/#/reset"),
	})
}
