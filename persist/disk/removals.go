package disk

import (
	"log/slog"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// removals are the files that Pebble wants to remove while the store opens. In a damaged folder
// Pebble may treat files that it still needs as obsolete. If the start is then refused, the files
// must remain for a repair. After a crash or a refusal the next start decides again. mu guards
// all fields.
type removals struct {
	mu    sync.Mutex
	open  bool // the store is open: removals are no longer deferred
	names []string
}

// wait reports whether the removal of name is deferred.
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

// carryOut removes the deferred files. After it, no removal is deferred.
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
