package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"inboxd/http/client"
	"inboxd/internal/testutil/testtools"
)

// clientFigures are the results for one client. They are medians, in milliseconds, of a plain long
// poll and of the client's wait, from the last byte of a message until the code is returned; and
// the resident memory of 100 streams, in MiB.
type clientFigures struct {
	Bare    float64 `json:"bare_ms"`
	Client  float64 `json:"client_ms"`
	Streams float64 `json:"streams_mb"`
}

// TestClientFigures measures the clients (make client-figures). CLIENT_ROUNDS is the number of
// waits of each kind.
func TestClientFigures(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("CLIENT_ROUNDS"))
	if err != nil {
		t.Skip("make client-figures")
	}
	u := launch(t, filepath.Join(t.TempDir(), "data")).signUp(t, "me@example.test")
	u.more = []string{fmt.Sprintf("ROUNDS=%d", rounds), "PYTHONPATH=../python/src"}
	const dir = "../../clients/bench"
	python := testtools.ProgramPath(t, "python3")
	u.outside(t, pythonClient, python, "generate.py")
	u.outside(t, typescriptClient, "npm", "run", "--silent", "build")
	for _, c := range []struct {
		name  string
		most  float64 // that the client may add, in milliseconds
		takes func() string
	}{
		{"Go", 0.3, func() string { return u.goFigures(t, rounds) }},
		{"TypeScript", 0.3, func() string { return u.outside(t, dir, "node", "bench.mjs") }},
		{"Python", 1, func() string { return u.outside(t, dir, python, "bench.py") }},
	} {
		var f clientFigures
		if err := json.Unmarshal([]byte(c.takes()), &f); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%-10s bare %6.3f ms, client %6.3f ms, adds %6.3f ms (at most %.1f); 100 streams %5.1f MiB (at most 100)\n", c.name, f.Bare, f.Client, f.Client-f.Bare, c.most, f.Streams)
	}
}

// goFigures does the same as clients/bench/bench.mjs and bench.py.
func (u *user) goFigures(t *testing.T, rounds int) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, address := client.New("http://"+u.server.http, u.key), u.inbox(t, "figures")
	began, err := c.Events(ctx, client.EventQuery{Inbox: address, After: client.Now})
	if err != nil {
		t.Fatal(err)
	}
	shop := dialShop(t, u.server.smtp)
	bare := func(after int64) (string, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("http://%s/api/v1/inboxes/%s/latest?wait=50&otp=true&after=%d", u.server.http, address, after), nil)
		if err != nil {
			return "", err
		}
		req.Header.Set("X-API-Key", u.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var out struct{ Email *client.Message }
		b, err := io.ReadAll(resp.Body)
		if err == nil {
			err = json.Unmarshal(b, &out)
		}
		return out.Email.OTPCode, err
	}
	waits := func(after int64) (string, error) {
		m, err := c.WaitForOTP(ctx, address, after)
		if err != nil {
			return "", err
		}
		return m.OTPCode, nil
	}
	took := [2][]time.Duration{}
	for i := range 2 * rounds {
		wait := bare
		if i%2 == 1 {
			wait = waits
		}
		end := make(chan time.Time, 1)
		code := strconv.Itoa(100001 + i)
		go func() {
			got, err := wait(int64(i))
			if err != nil || got != code {
				t.Errorf("%q %v, want %s", got, err, code)
			}
			end <- time.Now()
		}()
		time.Sleep(5 * time.Millisecond) // by then it waits at the service
		sent := shop.mail(address, code)
		took[i%2] = append(took[i%2], (<-end).Sub(sent))
	}
	before := resident(t)
	first := make(chan error)
	for range 100 {
		go func() {
			for _, err := range c.Follow(ctx, client.EventQuery{Inbox: address, After: began.Next}) {
				first <- err
				<-ctx.Done()
				return
			}
		}()
	}
	for range 100 {
		if err := <-first; err != nil {
			t.Error(err)
		}
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return list[len(list)/2].Seconds() * 1000
	}
	out, _ := json.Marshal(clientFigures{median(took[0]), median(took[1]), float64(resident(t)-before) / (1 << 20)})
	return string(out)
}

// shop is one SMTP session that sends codes.
type shop struct {
	t    *testing.T
	conn net.Conn
	said *bufio.Reader
}

func dialShop(t *testing.T, smtp string) *shop {
	t.Helper()
	conn, err := net.Dial("tcp", smtp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &shop{t, conn, bufio.NewReader(conn)}
	s.replies(1)
	fmt.Fprint(conn, "EHLO bench\r\n")
	s.replies(1)
	return s
}

func (s *shop) replies(n int) {
	for n > 0 {
		line, err := s.said.ReadString('\n')
		if err != nil || line[0] > '3' {
			s.t.Fatal(line, err)
		}
		if line[3] == ' ' {
			n--
		}
	}
}

// mail sends a code and returns when its last bytes are written.
func (s *shop) mail(to, code string) time.Time {
	fmt.Fprintf(s.conn, "MAIL FROM:<shop@example.com>\r\nRCPT TO:<%s>\r\nDATA\r\n", to)
	s.replies(3)
	sent := time.Now()
	fmt.Fprintf(s.conn, "From: shop@example.com\r\nSubject: Sign in\r\n\r\nYour code is %s\r\n.\r\n", code)
	s.replies(1)
	return sent
}

// resident returns the memory of this process, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
