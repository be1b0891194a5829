package client_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"inboxd/http/client"
)

// service responds like the inbox service after one message with a code has arrived.
func service() (base string, stop func()) {
	const mail = `{"id":1,"subject":"Sign in","from":{"email":"shop@example.com","name":"Shop"},"otp_code":"482913"}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "POST":
			io.WriteString(w, `{"address":"quiet-river-4821@inbox.example.com"}`)
		case strings.HasSuffix(r.URL.Path, "/latest"):
			io.WriteString(w, `{"email":`+mail+`}`)
		case r.URL.Query().Get("after") == client.Now:
			io.WriteString(w, `{"events":[],"next":"1"}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "id: 2\ndata: {\"event\":\"message.received\",\"subject\":\"Sign in\",\"otp\":\"482913\"}\n\n")
		}
	}))
	return s.URL, s.Close
}

func ExampleClient_WaitForOTP() {
	base, stop := service() // os.Getenv("INBOX_BASE_URL")
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := client.New(base, "svc_live_...")
	inbox, err := c.CreateInbox(ctx, client.InboxOrder{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("Send a message with a code to", inbox.Address)
	mail, err := c.WaitForOTP(ctx, inbox.Address, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mail.OTPCode)
	// Output:
	// Send a message with a code to quiet-river-4821@inbox.example.com
	// 482913
}

func ExampleClient_WaitForMessage() {
	base, stop := service()
	defer stop()
	c := client.New(base, "svc_live_...")
	mail, err := c.WaitForMessage(context.Background(), "quiet-river-4821@inbox.example.com", client.Wait{
		Since: time.Now().Add(-15 * time.Minute),
		Match: func(m *client.Message) bool { return m.Subject == "Sign in" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mail.From.Email)
	// Output: shop@example.com
}

func ExampleClient_Follow() {
	base, stop := service()
	defer stop()
	for event, err := range client.New(base, "svc_live_...").Follow(context.Background(), client.EventQuery{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(event.Name, event.OTP, "go on behind", event.Cursor)
		break
	}
	// Output: message.received 482913 go on behind 2
}

func ExampleVerifyWebhook() {
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			return
		}
		event, err := client.VerifyWebhook(body, r.Header, "whsec_"+base64.StdEncoding.EncodeToString([]byte("the secret that you were shown")))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Println(event.Name)
	}
	answer := httptest.NewRecorder()
	receive(answer, httptest.NewRequest("POST", "/hook", strings.NewReader(`{"event":"message.received"}`)))
	fmt.Print(answer.Code, " ", answer.Body)
	// Output: 400 invalid webhook: webhook-id, webhook-timestamp or webhook-signature is missing
}
