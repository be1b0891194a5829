package drive

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// scripted responds to the first request on one connection with pieces, each a write of its own,
// and closes.
func scripted(t *testing.T, pieces ...string) *HTTPConn {
	t.Helper()
	client, server := net.Pipe() // unbuffered: every piece is a read of its own
	t.Cleanup(func() { client.Close() })
	go func() {
		defer server.Close()
		if _, err := server.Read(make([]byte, 4096)); err != nil {
			return
		}
		for _, p := range pieces {
			if _, err := io.WriteString(server, p); err != nil {
				return
			}
		}
	}()
	return &HTTPConn{NC: client, buf: make([]byte, 32)}
}

func TestHTTPResponses(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name   string
		pieces []string
		status int
		body   string
	}{
		{"one piece", []string{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"}, 200, "hi"},
		{"any case, no space", []string{"HTTP/1.1 404 Not Found\r\nA: b\r\ncONTENT-lENGTH:2\r\nC: d\r\n\r\nhi"}, 404, "hi"},
		{"byte by byte", strings.Split("HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello", ""), 201, "hello"},
		{"longer than the buffer", []string{"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", long}, 200, long},
		{"no content", []string{"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"}, 304, ""},
		{"length of what a 304 leaves out", []string{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"}, 304, ""},
		{"empty", []string{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}, 200, ""},
	} {
		response, err := scripted(t, c.pieces...).Do([]byte("GET / HTTP/1.1\r\n\r\n"))
		if err != nil || response.Status != c.status || string(response.Body) != c.body {
			t.Errorf("%s: %d %.40q, %v", c.name, response.Status, response.Body, err)
		}
	}
}

func TestHTTPResponsesThatAreRefused(t *testing.T) {
	for name, response := range map[string]string{
		"cut short":     "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
		"cut in head":   "HTTP/1.1 200 OK\r\nContent-Le",
		"too much":      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhi",
		"chunked":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"interim":       "HTTP/1.1 100 Continue\r\n\r\n",
		"old":           "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"negative":      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"absurd length": "HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n",
		"other length":  "HTTP/1.1 200 OK\r\nX-Content-Length: 2\r\n\r\nhi",
		"body of a 304": "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nhi",
		"silence":       "",
	} {
		if got, err := scripted(t, response).Do([]byte("GET / HTTP/1.1\r\n\r\n")); err == nil {
			t.Errorf("%s: taken as %d %q", name, got.Status, got.Body)
		}
	}
}

func TestHTTPConnIsReusedAndDoesNotAllocate(t *testing.T) {
	addr := serveOne(t, func(c net.Conn) {
		response := []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		for buf := make([]byte, 4096); ; { // allocates nothing itself: all of the process is counted
			if _, err := c.Read(buf); err != nil {
				return
			}
			_, _ = c.Write(response)
		}
	})
	conn, err := DialHTTP(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := BuildRequest("GET", "/", "h", "", nil)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := conn.Do(request); err != nil {
			t.Fatal(err)
		}
	})
	if allocs >= 1 {
		t.Errorf("%v allocations a request: the client must stay cheap", allocs)
	}
}

func TestBuildRequest(t *testing.T) {
	got := string(BuildRequest("POST", "/p?q=1", "h:1", "X-API-Key: k", []byte("{}")))
	want := "POST /p?q=1 HTTP/1.1\r\nHost: h:1\r\nX-API-Key: k\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	if got != want {
		t.Errorf("got %q", got)
	}
	if got := LatestPath("a@b.test", 7, 30*time.Second); got != "/api/v1/inboxes/a@b.test/latest?after=7&wait=30" {
		t.Errorf("got %s", got)
	}
	if got := LatestPath("a@b.test", 0, time.Second); got != "/api/v1/inboxes/a@b.test/latest?wait=1" {
		t.Errorf("got %s", got)
	}
}

func TestChunksWhereTheyMayCome(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct {
		pieces []string
		ok     bool
	}{
		"one piece":       {[]string{head + "5\r\nhello\r\n0\r\n\r\n"}, true},
		"byte by byte":    {strings.Split(head+"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", ""), true},
		"hexadecimal":     {[]string{head, "1A\r\n", strings.Repeat("x", 26), "\r\n0\r\n\r\n"}, true},
		"not a number":    {[]string{head + "z\r\nhello\r\n0\r\n\r\n"}, false},
		"negative":        {[]string{head + "-5\r\nhello\r\n0\r\n\r\n"}, false},
		"cut short":       {[]string{head + "5\r\nhe"}, false},
		"without the end": {[]string{head + "5\r\nhello\r\n"}, false},
	} {
		conn := scripted(t, c.pieces...)
		conn.chunked = true
		response, err := conn.Do([]byte("GET / HTTP/1.1\r\n\r\n"))
		if (err == nil) != c.ok || c.ok && (response.Status != 200 || !strings.HasSuffix(string(response.Body), "0\r\n\r\n")) {
			t.Errorf("%s: %d %q, %v", name, response.Status, response.Body, err)
		}
	}
}
