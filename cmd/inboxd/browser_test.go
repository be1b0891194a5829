package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"inboxd/internal/testdeps"
)

// browser is a Chromium without a window, which speaks the DevTools protocol over two pipes:
// JSON objects, each ended by a NUL.
type browser struct {
	t       testing.TB
	to      io.Writer
	from    *bufio.Reader
	session string
	calls   int
}

// openBrowser starts one with an empty page.
func openBrowser(t testing.TB) *browser {
	t.Helper()
	hears, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testdeps.Program(t, "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{hears, says} // 3 and 4, as it wants them
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hears.Close()
	says.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		_, _ = io.WriteString(to, `{"id":0,"method":"Browser.close"}`+"\x00")
		_ = cmd.Wait() // its exit code says nothing of the page
		stuck.Stop()
		to.Close()
		from.Close()
	})
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	return b
}

// call waits for the answer of a method and skips events meanwhile.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.calls++
	ask := map[string]any{"id": b.calls, "method": method, "params": params}
	if b.session != "" {
		ask["sessionId"] = b.session
	}
	text, err := json.Marshal(ask)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		line, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: the browser is gone: %v", method, err)
		}
		var answer struct {
			ID     int
			Result map[string]any
			Error  map[string]any
		}
		if err := json.Unmarshal(line[:len(line)-1], &answer); err != nil || answer.Error != nil {
			b.t.Fatalf("%s: %s %v", method, line, err)
		}
		if answer.ID == b.calls {
			return answer.Result
		}
	}
}

// run evaluates a script in the page and returns the string it comes to.
func (b *browser) run(script string) string {
	b.t.Helper()
	got := b.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true})
	if got["exceptionDetails"] != nil {
		b.t.Fatalf("the page throws %v", got["exceptionDetails"])
	}
	value, _ := got["result"].(map[string]any)["value"].(string)
	return value
}

// visit opens an address and waits until it is loaded.
func (b *browser) visit(address string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "about:blank"}) // another # alone would load nothing
	b.call("Page.navigate", map[string]any{"url": address})
	b.run(`new Promise(done => { const look = () => location.href !== "about:blank" && document.readyState === "complete" ? done("") : setTimeout(look, 5); look() })`)
}
