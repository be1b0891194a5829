// Package client calls the inbox service over HTTP: accounts and keys, inboxes, mail, events,
// own domains. It knows the public contract (/openapi.json) and nothing of the server behind
// it; every call takes a context, and every refusal is an *Error that holds the server's own
// sentence.
//
// Five lines to the first code, without what checks err:
//
//	c := client.New(os.Getenv("INBOX_BASE_URL"), os.Getenv("INBOX_API_KEY"))
//	inbox, err := c.CreateInbox(ctx, client.InboxOrder{})
//	fmt.Println("Send a mail with a code to", inbox.Address)
//	mail, err := c.WaitForOTP(ctx, inbox.Address, 0)
//	fmt.Println(mail.OTPCode)
//
// A call is repeated, twice by default, only where that does no harm: what reads, what sets, what carries
// an Idempotency-Key (drawn once for each call, or the caller's), and what the service says it did not do
// (503, 429). It ends after Client.Timeout, and with its context. Waits end with their context alone; they
// outlive a restart of the service, and give up after about a minute in which nothing answers.
package client
