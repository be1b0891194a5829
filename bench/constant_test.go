package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/valyala/fasthttp"

	"inboxd/bench/drive"
	"inboxd/bench/fakes"
)

// TestConstantAnswersHaveTheirSize asks the server itself: what fasthttp adds counts.
func TestConstantAnswersHaveTheirSize(t *testing.T) {
	for _, c := range []struct{ status, size int }{{200, 9}, {200, 3253}, {304, 140}, {304, 187}} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- fakes.Constant(ctx, "127.0.0.1:0", c.status, c.size, w) }()
		line := make([]byte, 100)
		n, err := r.Read(line)
		addrs, ready := drive.ParseReady("constant", string(line[:n]))
		if err != nil || !ready {
			t.Fatal(string(line[:n]), err)
		}
		conn, err := drive.DialHTTP(t.Context(), addrs["http"])
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			response, err := conn.Do([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
			size := len(response.Body)
			if c.status == fasthttp.StatusNotModified {
				size = len(response.Head)
			}
			if err != nil || response.Status != c.status || size != c.size {
				t.Errorf("status %d, %d bytes, want %+v: %v", response.Status, size, c, err)
			}
			if c.status == 200 && !json.Valid(response.Body) || !bytes.HasSuffix(response.Head, []byte("\r\n\r\n")) {
				t.Errorf("%q %q", response.Head, response.Body)
			}
		}
		conn.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := fakes.Constant(t.Context(), "127.0.0.1:0", 500, 1, io.Discard); err == nil {
		t.Error("status 500 is taken")
	}
	if err := fakes.Constant(t.Context(), "192.0.2.1:0", 200, 1, io.Discard); err == nil {
		t.Error("an address that is not on loopback is taken")
	}
}
