package operator

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServerThatStandsStill: the system accepts connections for a stopped process. No command waits
// for it longer than a live one needs, not even a backup.
func TestServerThatStandsStill(t *testing.T) {
	path := filepath.Join(shortDir(t), "a.sock")
	ln, err := net.Listen("unix", path) // and nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	server := &Command{AdminSocket: path, patience: 50 * time.Millisecond}
	for name, run := range map[string]func(*Command) error{
		"stats": (&statsCommand{}).Run, "dns": (&dnsCommand{}).Run, "account delete": (&accountDelete{}).Run, "backup": (&backupCommand{}).Run,
	} {
		if err := run(server); err == nil || !strings.HasSuffix(err.Error(), path+" did not respond within 50ms") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
