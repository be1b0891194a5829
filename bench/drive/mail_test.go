package drive

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"
	"time"
)

func TestMailIsWhatAReaderExpects(t *testing.T) {
	const code = "482913"
	raw := SignInMail(time.Now(), MailSize).Render(nil, code, "1")
	if len(raw) < MailSize-len(filler) || len(raw) > MailSize {
		t.Errorf("%d bytes, want about %d", len(raw), MailSize)
	}
	body, ok := bytes.CutSuffix(raw, []byte("\r\n.\r\n"))
	if !ok {
		t.Fatalf("no final dot: %q", raw[len(raw)-20:])
	}
	for line := range strings.SplitSeq(string(body), "\r\n") {
		if strings.HasPrefix(line, ".") || strings.ContainsAny(line, "\r\n") || len(line) > 998 {
			t.Errorf("line %q is not fit for the wire", line)
		}
	}
	m, err := mail.ReadMessage(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Header.Date(); err != nil {
		t.Error(err)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for _, kind := range []string{"text/plain", "text/html"} {
		p, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(p)
		if !strings.HasPrefix(p.Header.Get("Content-Type"), kind) || strings.Count(string(text), code) != 1 {
			t.Errorf("%s part without its code: %s", kind, text)
		}
	}
}

// The bound of --size, which tags repeat, is the length of a message without filling.
func TestTheLeastSizeIsThatOfAnEmptyMessage(t *testing.T) {
	if n := SignInMail(time.Time{}, 0).Len(); n != 1250 {
		t.Errorf("the shortest message has %d bytes", n)
	}
}

func TestInvitationsAreWhatAReaderExpects(t *testing.T) {
	for _, tmpl := range []*Template{Invitation(time.Now(), 2048), HostileInvitation(time.Now()), PlainText(time.Now(), 3000)} {
		raw := tmpl.Render(nil, "", "a1")
		body, ok := bytes.CutSuffix(raw, []byte("\r\n.\r\n"))
		for line := range bytes.SplitSeq(body, []byte("\r\n")) {
			ok = ok && len(line) <= 998 && !bytes.HasPrefix(line, []byte(".")) && !bytes.ContainsAny(line, "\r\n")
		}
		invited := bytes.Contains(raw, []byte("BEGIN:VEVENT"))
		if want := 1; !ok || len(tmpl.ids) != want+bytes.Count(raw, []byte("UID:")) || invited != bytes.Contains(raw, []byte("UID:000000000000000000a1@")) {
			t.Errorf("%d ids in %.2000s", len(tmpl.ids), raw)
		}
	}
	if n := len(Invitation(time.Now(), 2048).text) - len(Invitation(time.Now(), 0).text); n < 500 || n > 2048 {
		t.Errorf("%d octets of description", n)
	}
}

func TestMailsAreDistinct(t *testing.T) {
	tmpl := SignInMail(time.Now(), MailSize)
	one, ten := tmpl.Render(nil, "111111", "a1"), tmpl.Render(nil, "111111", "a10")
	if bytes.Equal(one, ten) || len(one) != len(ten) {
		t.Error("ids 1 and 10 give the same Message-ID")
	}
	if again := tmpl.Render(nil, "111111", "a1"); !bytes.Equal(one, again) {
		t.Error("rendering changed the template")
	}
	seen := make(map[string]bool)
	for i := range 200_000 { // as many as one turn can send
		code := CodeOf(i)
		if seen[code] || len(code) != 6 || code[0] == '0' {
			t.Fatalf("code %d is %s", i, code)
		}
		seen[code] = true
	}
}
