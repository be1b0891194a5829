package main

import (
	"fmt"
	netsmtp "net/smtp"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/internal/testutil/spamtest"
)

// sendText delivers a message from a sender unknown to a scanner.
func (s *server) sendText(t *testing.T, to, subject, text string) {
	t.Helper()
	mail := fmt.Sprintf("From: a@shop.test\r\nTo: %s\r\nSubject: %s\r\nDate: Sat, 21 Nov 2026 10:11:12 +0000\r\nMessage-ID: <%d@shop.test>\r\n\r\n%s\r\n", to, subject, time.Now().UnixNano(), text)
	if err := netsmtp.SendMail(s.smtp, nil, "a@shop.test", []string{to}, []byte(mail)); err != nil {
		t.Fatal(err)
	}
}

// TestSpamVerdicts: a real scanner's verdict is on the message and in lists, also after a crash.
// Without a scanner, or with a dead one, the verdict is null and the message is still delivered.
func TestSpamVerdicts(t *testing.T) {
	for name, address := range map[string]func(testing.TB) string{"rspamd": spamtest.Rspamd, "spamd": spamtest.Spamd} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			s := launch(t, dir, "--spam", address(t))
			u := s.signUp(t, "me@example.test")
			inbox := u.inbox(t, "agent")
			s.sendText(t, inbox, "hello", "See you on Monday.")
			s.sendText(t, inbox, "hello", strings.Repeat("large\r\n", 8<<10)) // its document is stored
			s.sendText(t, inbox, "hello", spamtest.GTUBE)
			check := func(when string) {
				t.Helper()
				for id := 1; id <= 3; id++ {
					v, _ := u.do(t, 200, "GET", fmt.Sprintf("/inboxes/%s/messages/%d", inbox, id), nil)["email"].(map[string]any)["spam"].(map[string]any)
					if v == nil || v["is_spam"] != (id == 3) || v["required"].(float64) < 5 || (v["score"].(float64) >= v["required"].(float64)) != (id == 3) {
						t.Errorf("%s, mail %d: %v", when, id, v)
						continue
					}
					if rules := v["rules"].([]any); id == 3 && (len(rules) == 0 || rules[0].(map[string]any)["name"] != "GTUBE") {
						t.Errorf("%s, mail %d: %v", when, id, rules)
					}
				}
				emails := u.do(t, 200, "GET", "/inboxes/"+inbox+"/messages?fields=id,spam", nil)["emails"].([]any)
				if len(emails) != 3 || emails[0].(map[string]any)["spam"] == nil || emails[2].(map[string]any)["spam"] == nil {
					t.Errorf("%s, list: %v", when, emails)
				}
			}
			check("at once")
			s.kill()
			s = launch(t, dir)
			u.server = s
			check("after kill -9")
			s.sendText(t, inbox, "hello", spamtest.GTUBE)
			if got := u.latest(t, inbox, ""); got["id"] != 4.0 || got["spam"] != nil {
				t.Errorf("without a scanner: %v", got)
			}
			s.kill()
			s = launch(t, dir, "--spam", "rspamd+http://127.0.0.1:1")
			u.server = s
			s.sendText(t, inbox, "hello", "x")
			if got := u.latest(t, inbox, ""); got["id"] != 5.0 || got["spam"] != nil {
				t.Errorf("with a dead scanner: %v", got)
			}
		})
	}
}

func TestSpamAddressIsChecked(t *testing.T) {
	if _, err := tryLaunch(filepath.Join(t.TempDir(), "data"), "--spam", "http://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "--spam") {
		t.Error(err)
	}
}
