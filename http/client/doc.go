// Package client calls the inbox service over HTTP: accounts and keys, inboxes, messages, events,
// webhooks, own domains. It knows the public contract (/openapi.json), but not the server behind it.
// Every call takes a context. Every refusal is an *Error that holds the server's own sentence, and a
// code on which to branch.
//
// Five lines to the first code, without checks of err:
//
//	c, err := client.Open(os.Getenv("INBOX_BASE_URL"), os.Getenv("INBOX_API_KEY"))
//	inbox, err := c.CreateInbox(ctx, client.InboxOrder{})
//	fmt.Println("Send a message with a code to", inbox.Address)
//	mail, err := c.WaitForOTP(ctx, inbox.Address, 0)
//	fmt.Println(mail.OTPCode)
//
// A call is retried, twice by default, only where that is safe: a read, a call that sets a value, a
// call with an Idempotency-Key (generated once for each call, or given by the caller), and a call
// that the service says it did not execute (503, 429). A call ends after Client.Timeout, or when
// its context ends. A wait ends only with its context. It continues over a restart of the service,
// and fails after about a minute without a response.
package client
