// Package client calls the inbox service over HTTP: accounts and keys, inboxes, messages, events,
// custom domains. It knows only the public contract (/openapi.json), not the server behind it.
// Every call takes a context. Every error response is an *Error that contains the server's own
// sentence.
//
// These lines wait for the first code; error checks are left out:
//
//	c := client.New(os.Getenv("INBOX_BASE_URL"), os.Getenv("INBOX_API_KEY"))
//	inbox, err := c.CreateInbox(ctx, client.InboxOrder{})
//	fmt.Println("Send a message with a code to", inbox.Address)
//	mail, err := c.WaitForOTP(ctx, inbox.Address, 0)
//	fmt.Println(mail.OTPCode)
//
// A call is retried, twice by default, only where that is safe: reads, idempotent writes, calls
// with an Idempotency-Key (drawn once per call, or set by the caller), and calls that the service
// did not carry out (503, 429). A call ends after Client.Timeout, or with its context. Waits end
// only with their context. They survive a restart of the service, and fail after about a minute
// without any response.
package client
