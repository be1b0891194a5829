package mailauth

import (
	"bytes"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"inboxd/internal/testutil/testtools"
)

// TestOtherVerifiers has dkimpy and OpenDKIM, which are independent implementations, verify
// signatures of Sign by both keys. They must reject them after one letter is changed.
func TestOtherVerifiers(t *testing.T) {
	keys := rsaKeys()
	signers := []Signer{
		{Domain: "example.com", Selector: "r1", Key: keys.RSA, At: now},
		{Domain: "example.com", Selector: "e1", Key: keys.Ed25519, At: now},
	}
	dir, records := t.TempDir(), ""
	for _, s := range signers {
		record, err := KeyRecord(s.Key.Public())
		if err != nil {
			t.Fatal(err)
		}
		records += RecordName(s.Domain, s.Selector) + " " + record + "\n"
	}
	dns := filepath.Join(dir, "dns")
	write(t, dns, []byte(records))
	rnd := mathrand.New(mathrand.NewPCG(3, 4))
	messages := [][]byte{plain, wire("From: ada@example.com", "Subject: =?utf-8?q?caf=C3=A9?=", "", "")}
	for range 8 {
		messages = append(messages, randomMail(rnd, "e"))
	}
	var paths []string
	var want []bool
	add := func(raw []byte, good bool) {
		paths, want = append(paths, filepath.Join(dir, fmt.Sprint(len(paths)))), append(want, good)
		write(t, paths[len(paths)-1], raw)
	}
	for _, raw := range messages {
		for _, s := range signers {
			out := signed(t, raw, s)
			add(out, true)
			add(bytes.Replace(out, []byte("\r\nSubject:"), []byte("\r\nSubject: forged"), 1), false)
			add(append(out, "more\r\n"...), false)
		}
	}
	for name, verify := range map[string]func(*testing.T, string, []string) []bool{"dkimpy": dkimpy, "opendkim": opendkim} {
		t.Run(name, func(t *testing.T) {
			for i, got := range verify(t, dns, paths) {
				if got != want[i] {
					raw, _ := os.ReadFile(paths[i])
					t.Errorf("verifies: %v, want %v\n%q", got, want[i], raw)
				}
			}
		})
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

const dkimpyScript = `
import sys, dkim
zone = dict(line.rstrip("\n").split(" ", 1) for line in open(sys.argv[1]))
ask = lambda name, timeout=5: zone[name.decode().rstrip(".")].encode()
for path in sys.argv[2:]:
    print(dkim.verify(open(path, "rb").read(), dnsfunc=ask))
`

func dkimpy(t *testing.T, dns string, paths []string) (verify []bool) {
	t.Helper()
	out, err := exec.Command(testtools.ProgramPath(t, "python3"),
		append([]string{"-c", dkimpyScript, dns}, paths...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("dkimpy: %v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		verify = append(verify, strings.TrimSpace(line) == "True")
	}
	if len(verify) != len(paths) {
		t.Fatalf("dkimpy: %s", out)
	}
	return verify
}

func opendkim(t *testing.T, dns string, paths []string) (verify []bool) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "conf")
	write(t, conf, fmt.Appendf(nil, "Mode v\nSyslog no\nTestDNSData %s\n", dns))
	for _, path := range paths {
		out, err := exec.Command(testtools.ProgramPath(t, "opendkim"), "-t", path, "-x", conf).CombinedOutput()
		good, bad := bytes.Contains(out, []byte("succeeded")), bytes.Contains(out, []byte("failed"))
		if good == bad {
			t.Fatalf("opendkim: %v: %s", err, out)
		}
		verify = append(verify, good)
	}
	return verify
}
