package disk

import (
	"log/slog"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// removals are what the engine wants removed while the store opens. An engine that lost sight of
// files in a damaged folder takes them for leavings; a start that is then refused must leave them
// for whoever repairs it. A crash, or a refusal, leaves them to the next start. mu guards all.
type removals struct {
	mu    sync.Mutex
	open  bool // the store is: nothing waits any more
	names []string
}

// wait reports whether the removal of name is put off.
func (r *removals) wait(name string) bool {
	holds := isTable(name) || strings.HasSuffix(name, ".log") || strings.Contains(name, manifestPrefix)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open || !holds {
		return false
	}
	r.names = append(r.names, name)
	return true
}

// carryOut removes what waits.
func (r *removals) carryOut(fs vfs.FS, log *Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = true
	for _, name := range r.names {
		if err := fs.Remove(name); err != nil {
			log.Seldom(slog.LevelWarn, "storage: old file not removed", "file", name, "err", err)
		}
	}
	r.names = nil
}
