package main

import (
	netsmtp "net/smtp"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The memory of a message is reused for the next one as soon as it is stored (ADR 0029). What a
// server reads of a message must be the same with the message in memory and with only the disk. The
// text is on one line, which needs no repaired line ends, in each part that a message has.
func TestMailOutlivesItsBuffer(t *testing.T) {
	const one = "Your verification code is 482913, or follow https://shop.test/verify?token=a1b2c3 instead"
	mailCount := map[string]string{
		"plain": "From: \"Anna Bell\" <anna@shop.test>\r\nTo: me@inbox.localhost\r\nSubject: Your code\r\nMessage-ID: <1@shop.test>\r\nX-Note: kept\r\n\r\n" + one,
		"parts": "From: a@shop.test\r\nSubject: Parts\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n" + one +
			"\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>" + one + "</p><a href='https://shop.test/confirm'>Confirm</a>\r\n--b\r\nContent-Type: text/csv; name=\"list.csv\"\r\n\r\na,b\r\n--b--\r\n",
		"quoted": "From: a@shop.test\r\nSubject: =?utf-8?q?Caf=C3=A9?=\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" + strings.ReplaceAll(one, "=", "=3D") + " =C3=A9",
		"bare":   "\r\n" + one,
	}
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	before := map[string]map[string]any{}
	for name, mail := range mailCount {
		address := u.inbox(t, name)
		if err := netsmtp.SendMail(s.smtp, nil, "bounce@shop.test", []string{address}, []byte(mail)); err != nil {
			t.Fatal(name, err)
		}
		before[address] = u.latest(t, address, "")
		if text, _ := before[address]["body"].(string); !strings.Contains(text, one) {
			t.Errorf("%s: text %q", name, text)
		}
	}
	s.kill()
	u.server = launch(t, dir)
	for address, was := range before {
		if is := u.latest(t, address, ""); !reflect.DeepEqual(is, was) {
			t.Errorf("%s: from memory %v\nfrom disk %v", address, was, is)
		}
	}
}
