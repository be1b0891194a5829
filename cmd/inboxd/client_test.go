package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	netsmtp "net/smtp"
	"strings"
	"testing"
	"time"
)

// user is a user of the server, with the credentials that the API returned.
type user struct {
	server       *server
	session, key string
	more         []string // environment of programs run for this user
}

// answerOf is a decoded API response.
type answerOf struct {
	status int
	header http.Header
	body   map[string]any
}

func (s *server) call(method, path string, header map[string]string, body any) (answerOf, error) {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return answerOf{}, err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, "http://"+s.http+path, payload)
	if err != nil {
		return answerOf{}, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := (&http.Client{Timeout: 90 * time.Second}).Do(req)
	if err != nil {
		return answerOf{}, err
	}
	defer resp.Body.Close()
	a := answerOf{status: resp.StatusCode, header: resp.Header}
	b, err := io.ReadAll(resp.Body)
	if err == nil && len(b) > 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		err = json.Unmarshal(b, &a.body)
	}
	return a, err
}

// signUp creates an account with a full key.
func (s *server) signUp(t testing.TB, email string) *user {
	t.Helper()
	a, err := s.call("POST", "/api/auth/signup", nil, map[string]any{"email": email, "password": "correct horse"})
	if err != nil || a.status != 201 {
		t.Fatalf("sign-up: %v %v", a, err)
	}
	u := &user{server: s, session: a.body["session_token"].(string)}
	a, err = s.call("POST", "/api/keys", map[string]string{"Authorization": "Bearer " + u.session}, map[string]any{"label": "test", "scopes": []string{"full"}})
	if err != nil || a.status/100 != 2 {
		t.Fatalf("key: %v %v", a, err)
	}
	u.key = a.body["key"].(string)
	return u
}

// do makes a call with the key and requires the status.
func (u *user) do(t testing.TB, status int, method, path string, body any) map[string]any {
	t.Helper()
	a, err := u.server.call(method, "/api/v1"+path, map[string]string{"X-API-Key": u.key}, body)
	if err != nil || a.status != status {
		t.Fatalf("%s %s: %d %v %v, want %d", method, path, a.status, a.body, err, status)
	}
	return a.body
}

// inbox creates an inbox with this prefix.
func (u *user) inbox(t testing.TB, prefix string) string {
	t.Helper()
	return u.do(t, 201, "POST", "/inboxes", map[string]any{"prefix": prefix})["address"].(string)
}

// latest returns the newest received message, or nil if there is none.
func (u *user) latest(t testing.TB, address, query string) map[string]any {
	t.Helper()
	email, _ := u.do(t, 200, "GET", "/inboxes/"+address+"/latest"+query, nil)["email"].(map[string]any)
	return email
}

// mail sends one message with a code.
func (s *server) mail(to, code string) error { return s.mailFrom("no-reply@shop.test", to, code) }

func (s *server) mailFrom(from, to, code string) error {
	text := fmt.Sprintf("From: Shop <%s>\r\nTo: %s\r\nSubject: Your sign-in code\r\n\r\nYour verification code is %s.\r\n", from, to, code)
	return netsmtp.SendMail(s.smtp, nil, from, []string{to}, []byte(text))
}

// dialogue sends lines over a connection to the SMTP port. It fails unless each reply begins as
// wanted. For an empty wanted text, it reads no reply.
func dialogue(t *testing.T, conn net.Conn) func(send, want string) {
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return func(send, want string) {
		t.Helper()
		if _, err := conn.Write([]byte(send)); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			return
		}
		buf := make([]byte, 4096)
		if n, err := conn.Read(buf); err != nil || !strings.HasPrefix(string(buf[:n]), want) {
			t.Fatalf("after %q: %q %v, want %s", send, buf[:n], err, want)
		}
	}
}
