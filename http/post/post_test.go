package post

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/netguard"
	"inboxd/internal/core/webhook"
)

var loopbackAllowed = netguard.AddressPolicy{AllowedPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func newCaller(t *testing.T, guard netguard.AddressPolicy) *WebhookCaller {
	p := New(guard, nil)
	t.Cleanup(p.Close)
	return p
}

func TestCallerSendsTheBytesAndFieldsAsTheyAre(t *testing.T) {
	got := make(chan string, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		var head strings.Builder
		for line := ""; line != "\r\n"; {
			if line, err = r.ReadString('\n'); err != nil {
				return
			}
			head.WriteString(line)
		}
		body := make([]byte, 7)
		io.ReadFull(r, body)
		got <- head.String() + string(body)
		io.WriteString(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\ntak\xffn")
	}()
	p := newCaller(t, loopbackAllowed)
	secret := webhook.MintSecret([32]byte{1})
	a := p.PostWebhook(t.Context(), "http://"+ln.Addr().String()+"/hook?x=1", webhook.SignedHeaders("message.received", "evt_1", time.Unix(5, 0), []byte(`{"a":1}`), secret), []byte(`{"a":1}`))
	if a.Status != 202 || a.Error != "" || a.BodyExcerpt != "tak\uFFFDn" {
		t.Errorf("%+v", a)
	}
	wire := <-got
	for _, part := range []string{"POST /hook?x=1 HTTP/1.1\r\n", "\r\nwebhook-id: evt_1\r\n", "\r\nwebhook-timestamp: 5\r\n", "\r\nwebhook-signature: v1,", "\r\nX-Service-Event: message.received\r\n", "\r\nX-Service-Signature: sha256=", "\r\nUser-Agent: Service-Webhook/1.0\r\n", "\r\nContent-Length: 7\r\n", "\r\n\r\n" + `{"a":1}`} {
		if !strings.Contains(wire, part) {
			t.Errorf("the request lacks %q:\n%s", part, wire)
		}
	}
	if strings.Contains(wire, string(secret)) {
		t.Error("the secret travels")
	}
}

// TestCallerCallsNoForbiddenAddress tries every spelling of this machine with the default policy.
func TestCallerCallsNoForbiddenAddress(t *testing.T) {
	var touched atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { touched.Add(1) }))
	defer canary.Close()
	_, port, _ := net.SplitHostPort(canary.Listener.Addr().String())
	t.Setenv("HTTP_PROXY", canary.URL)
	p := newCaller(t, netguard.AddressPolicy{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.1.2.3", "0.0.0.0", "[::]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "10.0.0.1", "100.64.0.1", "192.0.2.1", "224.0.0.1"} {
		a := p.PostWebhook(t.Context(), "http://"+host+":"+port+"/", nil, nil)
		if a.Status != 0 || a.Error != "The receiver's address is not public. The operator can allow it with --webhook-allow" {
			t.Errorf("%s: %+v", host, a)
		}
	}
	if touched.Load() != 0 {
		t.Error("the canary was touched")
	}
}

func TestCallerFollowsNoRedirect(t *testing.T) {
	var touched atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { touched.Add(1) }))
	defer canary.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := httptest.NewServer(http.RedirectHandler(canary.URL, status))
		a := newCaller(t, loopbackAllowed).PostWebhook(t.Context(), s.URL, nil, nil)
		s.Close()
		if a.Status != status || a.Error != fmt.Sprintf("The receiver responded with status %d", status) {
			t.Errorf("%+v", a)
		}
	}
	if touched.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestCallerAndBadReceivers: a receiver's misbehavior costs one attempt and no more.
func TestCallerAndBadReceivers(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		status int
		says   string
	}{
		"garbage":         {"\x00\x01 not HTTP\r\n\r\n", 0, "failed"},
		"reset":           {"", 0, "failed"},
		"flood of 1xx":    {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 10_000), 0, "failed"},
		"status of 99":    {"HTTP/1.1 099 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0, "failed"},
		"endless head":    {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 1000), 0, "failed"},
		"endless body":    {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("z", 1<<20), 200, ""},
		"cut body":        {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", 200, ""},
		"server error":    {"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", 500, "status 500"},
		"switching":       {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", 101, "status 101"},
		"bad gzip":        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 200, ""},
		"two lengths":     {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 0, "failed"},
		"location to ftp": {"HTTP/1.1 302 F\r\nLocation: ftp://x/\r\nContent-Length: 0\r\n\r\n", 302, "status 302"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newCaller(t, loopbackAllowed).PostWebhook(t.Context(), "http://"+rawReceiver(t, c.answer), nil, []byte("{}"))
			if a.Status != c.status || !strings.Contains(a.Error, c.says) || (c.says == "") != (a.Error == "") || len(a.BodyExcerpt) > webhook.ExcerptBytes {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestCheckRefusesWhatMayNotBeCalled: forbidden addresses are refused, and unknown hosts are
// accepted.
func TestCheckRefusesWhatMayNotBeCalled(t *testing.T) {
	strict, lax := newCaller(t, netguard.AddressPolicy{}), newCaller(t, loopbackAllowed)
	for target, refused := range map[string]bool{
		"http://127.0.0.1/": true, "http://localhost:8080/": true, "http://[::1]/": true, "http://[::ffff:10.0.0.1]/": true,
		"https://169.254.169.254/latest/meta-data": true, "https://10.1.2.3/": true, "https://8.8.8.8/": false, "http://host.invalid/": false,
	} {
		if err := strict.CheckURL(t.Context(), target); (err != nil) != refused || err != nil && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s: %v", target, err)
		}
	}
	if err := lax.CheckURL(t.Context(), "http://127.0.0.1/"); err != nil {
		t.Errorf("what the operator allows: %v", err)
	}
}

func TestCallerGivesUpInTime(t *testing.T) {
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer s.Close()
	defer close(hold)
	p := newCaller(t, loopbackAllowed)
	if p.timeout != 10*time.Second {
		t.Errorf("an attempt may take %s", p.timeout)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if a := p.PostWebhook(ctx, s.URL, nil, nil); a.Status != 0 || a.Error != "The receiver did not respond within 10 s" {
		t.Errorf("%+v", a)
	}
	tlsOnly := httptest.NewTLSServer(http.NotFoundHandler())
	defer tlsOnly.Close()
	if a := p.PostWebhook(t.Context(), tlsOnly.URL, nil, nil); a.Error != "The receiver's certificate is not valid for it" {
		t.Errorf("%+v", a)
	}
	if a := p.PostWebhook(t.Context(), strings.Replace(s.URL, "http://", "https://", 1), nil, nil); a.Error != "The receiver does not support TLS" {
		t.Errorf("%+v", a)
	}
	if a := p.PostWebhook(t.Context(), "http://nobody.invalid/", nil, nil); a.Error != "The receiver's host name was not found" {
		t.Errorf("%+v", a)
	}
}

// rawReceiver sends these bytes in response to the first request of each connection, and closes it.
func rawReceiver(t *testing.T, answer string) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 4096)
				c.Read(buf)
				io.WriteString(c, answer)
			}()
		}
	}()
	return ln.Addr().String()
}
