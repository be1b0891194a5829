package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"inboxd/internal/testutil/dnstest"
	"inboxd/internal/testutil/testtools"
)

// inOwnNetwork runs the test again in its own network namespace, where any address can be ours, and
// reports whether it is there.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv("INBOXD_TEST_NETNS") == t.Name() {
		return true
	}
	inner := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	inner.Env = append(os.Environ(), "INBOXD_TEST_NETNS="+t.Name())
	inner.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := inner.CombinedOutput()
	switch {
	case err != nil && len(out) == 0:
		t.Skipf("this system gives no network namespaces: %v", err)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func addAddresses(t *testing.T, addrs ...string) {
	t.Helper()
	commands := [][]string{{"link", "set", "lo", "up"}}
	for _, a := range addrs {
		prefix := netip.MustParseAddr(a)
		commands = append(commands, []string{"addr", "add", netip.PrefixFrom(prefix, prefix.BitLen()).String(), "dev", "lo", "nodad"})
	}
	for _, c := range commands {
		if out, err := exec.Command(testtools.ProgramPath(t, "ip"), c...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v %s", c, err, out)
		}
	}
}

// TestNoAddressOfOursIsEverCalled: with the default flags, at public addresses and at every kind of
// non-public address, all of which lead to this machine. They are named when the webhook is
// created, behind a name that changes before an attempt or between attempts, next to a public one,
// or in a redirect.
func TestNoAddressOfOursIsEverCalled(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	const public, public6, ours = "8.8.4.4", "2001:4860:4860::8844", "9.9.9.9"
	forbidden := []string{
		"127.0.0.1", "127.99.1.2", "::1", "10.1.2.3", "172.16.5.5", "192.168.7.7", "100.64.3.3", "169.254.169.254", "192.0.2.5", "198.18.0.9",
		"198.51.100.4", "203.0.113.4", "192.88.99.4", "240.0.0.7", "fd00::7", "2001:db8::7", "64:ff9b::7f00:1", "64:ff9b::808:404", "2002:7f00:1::1", "100::9", "2001::9",
	}
	addAddresses(t, append([]string{public, public6, ours}, forbidden[3:]...)...)
	var touched atomic.Pointer[string]
	canary := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		where := fmt.Sprint(r.Context().Value(http.LocalAddrContextKey), " as ", r.Host)
		touched.Store(&where)
	})
	const port = "8099"
	for _, a := range forbidden {
		ln, err := net.Listen("tcp", net.JoinHostPort(a, port))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: canary}
		go server.Serve(ln)
		t.Cleanup(func() { server.Close() })
	}
	zone := dnstest.StartServer(t, "told.test. 0 IN A "+public)
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--dns", zone.Addr, "--http", ours+":8080", "--webhook-schedule", "0s,50ms")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "told")
	record := func(a string) string {
		kind := "A"
		if strings.Contains(a, ":") {
			kind = "AAAA"
		}
		return "told.test. 0 IN " + kind + " " + a
	}
	untouched := func(what string) {
		t.Helper()
		if where := touched.Swap(nil); where != nil {
			t.Errorf("%s: %s was called", what, *where)
		}
	}
	create := func(host string) int {
		t.Helper()
		a, err := s.call("POST", "/api/webhooks", map[string]string{"Authorization": "Bearer " + u.session}, map[string]any{"url": "http://" + host + "/", "event": "*"})
		if err != nil {
			t.Fatal(err)
		}
		return a.status
	}
	for _, a := range append([]string{"::ffff:127.0.0.1", "::ffff:10.1.2.3", "0.0.0.0", "::", "::127.0.0.1"}, forbidden...) {
		zone.SetRecords(t, record(a))
		if literal, named := create(net.JoinHostPort(a, port)), create("told.test:"+port); literal != 422 || named != 422 {
			t.Errorf("%s: %d, behind a name %d", a, literal, named)
		}
	}
	zone.SetRecords(t, "told.test. 0 IN A "+ours)
	if status := create("told.test:8080"); status != 422 {
		t.Errorf("our own API: %d", status)
	}
	untouched("made")

	// Rebinding: told.test is public when the webhook is created, and for the first attempt.
	zone.SetRecords(t, record(public), record(public6))
	path, _ := u.subscribe(t, "http://told.test:"+port+"/", "*")
	receive := func(answer func(n int, w http.ResponseWriter)) []*hookReceiver {
		return []*hookReceiver{receiveHooks(t, public+":"+port, answer), receiveHooks(t, "["+public6+"]:"+port, answer)}
	}
	var next atomic.Pointer[[]string]
	var status atomic.Int64
	status.Store(500)
	receivers := receive(func(_ int, w http.ResponseWriter) {
		if records := next.Load(); records != nil {
			zone.SetRecords(t, *records...)
		}
		w.Header().Set("Connection", "close")
		w.Header().Set("Location", "http://127.0.0.1:"+port+"/")
		w.WriteHeader(int(status.Load()))
	})
	calls := func() (n int) {
		for _, r := range receivers {
			r.mu.Lock()
			n += len(r.calls)
			r.mu.Unlock()
		}
		return n
	}
	reported := 0
	describe := func() map[string]any {
		t.Helper()
		reported++
		if err := s.mail(address, fmt.Sprint(100000+reported)); err != nil {
			t.Fatal(err)
		}
		return u.delivery(t, func(d map[string]any) bool { return settled(d) && int(d["id"].(float64))/1000 == reported })
	}
	for _, a := range forbidden {
		zone.SetRecords(t, record(a)) // between creation and attempt
		next.Store(nil)
		if d := describe(); d["error"] != notPublic || d["attempt"] != 2.0 {
			t.Errorf("rebound to %s: %v", a, d)
		}
		if a := u.account(t, 200, "POST", path+"/test", nil); a["error"] != notPublic {
			t.Errorf("test call: %v", a)
		}
		before := calls()
		zone.SetRecords(t, record(public), record(public6)) // and between attempts
		next.Store(&[]string{record(a)})
		if d := describe(); d["error"] != notPublic || d["attempt"] != 2.0 || calls() != before+1 {
			t.Errorf("rebound to %s between attempts: %v, %d calls", a, d, calls()-before)
		}
		next.Store(nil)
		zone.SetRecords(t, record(a), record(public))
		if d := describe(); d["error"] != notPublic && d["status_code"] != 500.0 {
			t.Errorf("%s beside a public one: %v", a, d)
		}
		untouched(a)
	}
	zone.SetRecords(t, record(public), record(public6))
	for _, code := range []int64{301, 302, 303, 307, 308} {
		status.Store(code)
		if d := describe(); d["status_code"] != float64(code) || d["state"] != "failed" {
			t.Errorf("redirected by %d: %v", code, d)
		}
	}
	status.Store(200)
	if d := describe(); d["state"] != "succeeded" {
		t.Errorf("at a public address: %v", d)
	}
	untouched("redirected")
}
