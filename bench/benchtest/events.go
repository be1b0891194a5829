package benchtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/smtp"
	"strconv"
	"strings"
	"time"
)

// webhook is one of the account of session, for one inbox or all.
type webhook struct{ session, url, inbox, id string }

// callWebhooks reports a message to the webhooks of its inbox. mu is held.
func (f *Fake) callWebhooks(r record) {
	body := func(code any) string {
		b, _ := json.Marshal(map[string]any{"event": "message.received", "inbox": r.Address, "otp": code})
		return string(b)
	}
	calls := []string{body(f.shown(r.Code))}
	switch tenth := f.taken%10 == 0; {
	case f.events == "lost" && tenth:
		calls = nil
	case f.events == "twice" && tenth:
		calls = append(calls, calls[0])
	case f.events == "strange" && tenth:
		calls = append(calls, body(nil))
	}
	for _, h := range f.hooks {
		if h.session != f.sessions[f.inboxes[r.Address].key] || h.inbox != "" && h.inbox != r.Address {
			continue
		}
		go func() { // ends with the process at the latest
			for _, body := range calls {
				f.post(h, body)
			}
		}()
	}
}

// webhookSecret is the secret of all webhooks, in base64.
const webhookSecret = "c2VjcmV0"

// post sends a body as Standard Webhooks wants it.
func (f *Fake) post(h webhook, body string) {
	req, err := http.NewRequest(http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		return
	}
	secret, at := "secret", strconv.FormatInt(time.Now().Unix(), 10)
	if f.unsigned {
		secret = "another"
	}
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s.%s", h.id, at, body)
	req.Header.Set("webhook-id", h.id)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", "v1,b3RoZXI= v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

// deliver hands a message over to the smarthost. mu is held.
func (f *Fake) deliver(subject string) {
	if f.smarthost == "" || f.loseSends && f.sent%10 == 0 {
		return
	}
	go func() { // ends with the process at the latest
		text := []byte("Subject: " + subject + "\r\n\r\ntext\r\n")
		_ = smtp.SendMail(f.smarthost, nil, "a@x.test", []string{"b@x.test"}, text)
	}()
}
