package benchtest

import (
	"bufio"
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

// fakeHook is a webhook of the account of session, for one inbox or all.
type fakeHook struct{ session, url, inbox, id string }

// tell calls the webhooks of a mail's inbox.
func (f *Fake) tell(r fakeRecord) {
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
				f.call(h, body)
			}
		}()
	}
}

// fakeSecret is the secret of all webhooks, in base64.
const fakeSecret = "c2VjcmV0"

// call posts a body as Standard Webhooks wants it.
func (f *Fake) call(h fakeHook, body string) {
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

// follow answers with where the events of now end, or with a stream of them.
func (f *Fake) follow(c *call) (int, any) {
	if string(c.Request.Header.Peek("Accept")) != "text/event-stream" {
		return 200, map[string]any{"events": []any{}, "next": strconv.Itoa(len(f.mails))}
	}
	from, err := strconv.Atoi(string(c.Request.Header.Peek("Last-Event-ID")))
	if err != nil {
		from = -1
	}
	key := c.key
	c.SetContentType("text/event-stream")
	c.SetBodyStreamWriter(func(w *bufio.Writer) { f.stream(w, key, from) })
	return 0, nil
}

// stream sends an event for each mail of an account from one on, -1 is the next, until the client leaves.
func (f *Fake) stream(w *bufio.Writer, key string, from int) {
	f.mu.Lock()
	if from < 0 {
		from = len(f.mails)
	}
	f.mu.Unlock()
	fmt.Fprint(w, "id: start\n\n")
	for w.Flush() == nil {
		f.mu.Lock()
		fresh, changed := f.mails[from:], f.changed
		ours := make([]bool, len(fresh))
		for i, m := range fresh {
			in := f.inboxes[m.Address]
			ours[i] = in != nil && in.key == key
		}
		f.mu.Unlock()
		if len(fresh) == 0 {
			<-changed
		}
		for i, m := range fresh {
			if from++; !ours[i] {
				continue
			}
			fmt.Fprintf(w, "id: %d\nevent: message.received\ndata: {\"event\":\"message.received\",\"inbox\":%q,\"otp\":%q}\n\n", from, m.Address, f.shown(m.Code))
		}
	}
}

// deliver hands a mail over to the smarthost. The fake's mu is held.
func (f *Fake) deliver(letter []byte) {
	var order struct{ Subject string }
	if f.smarthost == "" || json.Unmarshal(letter, &order) != nil || f.loseSends && f.sent%10 == 0 {
		return
	}
	go func() { // ends with the process at the latest
		_ = smtp.SendMail(f.smarthost, nil, "a@x.test", []string{"b@x.test"}, []byte("Subject: "+order.Subject+"\r\n\r\ntext\r\n"))
	}()
}
