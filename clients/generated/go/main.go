// Command generated does the main job with the client that oapi-codegen generates from the
// contract: it creates an inbox, receives a message with a code, and sends a message. It reads
// INBOX_BASE_URL, INBOX_API_KEY and INBOXD_SMTP, and prints the code.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/smtp"
	"os"
	"time"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := mainJob(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func mainJob(ctx context.Context) error {
	identify := func(_ context.Context, req *http.Request) error {
		req.Header.Set("X-API-Key", os.Getenv("INBOX_API_KEY"))
		return nil
	}
	c, err := NewClientWithResponses(os.Getenv("INBOX_BASE_URL"), WithRequestEditorFn(identify))
	if err != nil {
		return err
	}
	made, err := c.CreateInboxWithResponse(ctx, &CreateInboxParams{}, InboxOrder{})
	if err != nil {
		return err
	}
	if made.JSON201 == nil {
		return fmt.Errorf("creation: %s %s", made.Status(), made.Body)
	}
	address := made.JSON201.Address
	if err := receive(ctx, c, address); err != nil {
		return err
	}
	if err := send(ctx, c, address); err != nil {
		return err
	}
	gone, err := c.DeleteInboxWithResponse(ctx, address)
	if err == nil && gone.JSON200 == nil {
		err = fmt.Errorf("deletion: %s %s", gone.Status(), gone.Body)
	}
	return err
}

// receive sends a code over SMTP, as a shop would, and reads it.
func receive(ctx context.Context, c *ClientWithResponses, address string) error {
	mail := "From: shop@example.com\r\nTo: " + address + "\r\nSubject: Sign in\r\n\r\nYour code is 482913\r\n"
	if err := smtp.SendMail(os.Getenv("INBOXD_SMTP"), nil, "shop@example.com", []string{address}, []byte(mail)); err != nil {
		return err
	}
	wait, code, begin := 30, true, After{}
	if err := begin.FromAfter0(0); err != nil {
		return err
	}
	got, err := c.GetLatestMessageWithResponse(ctx, address, &GetLatestMessageParams{Wait: &wait, Otp: &code, After: &begin})
	switch {
	case err != nil:
		return err
	case got.JSON200 == nil || got.JSON200.Email == nil || got.JSON200.Email.OtpCode == nil:
		return fmt.Errorf("latest: %s %s", got.Status(), got.Body)
	}
	fmt.Println(*got.JSON200.Email.OtpCode)
	list, err := c.ListMessagesWithResponse(ctx, address, &ListMessagesParams{})
	if err == nil && (list.JSON200 == nil || len(list.JSON200.Emails) != 1 || list.JSON200.Emails[0].From.Email != "shop@example.com") {
		err = fmt.Errorf("list: %s %s", list.Status(), list.Body)
	}
	return err
}

// send sends a message from the inbox to itself, and checks that a refusal has the service's own
// sentence.
func send(ctx context.Context, c *ClientWithResponses, address string) error {
	subject := "Hello"
	sent, err := c.SendMessageWithResponse(ctx, address, &SendMessageParams{}, SendMessageJSONRequestBody{To: address, Subject: &subject})
	if err != nil {
		return err
	}
	if sent.JSON202 == nil {
		return fmt.Errorf("send: %s %s", sent.Status(), sent.Body)
	}
	kept, err := c.GetMessageWithResponse(ctx, address, sent.JSON202.MessageId, &GetMessageParams{})
	if err == nil && (kept.JSON200 == nil || kept.JSON200.Email.SendStatus == nil) {
		err = fmt.Errorf("message: %s %s", kept.Status(), kept.Body)
	}
	if err != nil {
		return err
	}
	none, err := c.SendMessageWithResponse(ctx, address, &SendMessageParams{}, SendMessageJSONRequestBody{To: "nobody"})
	if err == nil && (none.JSON422 == nil || none.JSON422.Detail == "") {
		err = errors.New("a refusal has no sentence: " + string(none.Body))
	}
	return err
}
