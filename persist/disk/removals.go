package disk

import (
	"log/slog"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// deferredRemovals are the files that Pebble wants to remove while the store opens. In a damaged folder
// Pebble may treat files that it still needs as obsolete. If the start is then refused, the files
// must remain for a repair. After a crash or a refusal the next start decides again. mu guards
// all fields.
type deferredRemovals struct {
	mu        sync.Mutex
	storeOpen bool // the store is open: removals are no longer deferred
	fileNames []string
}

// deferRemoval reports whether the removal of name is deferred.
func (r *deferredRemovals) deferRemoval(name string) bool {
	holds := isTable(name) || strings.HasSuffix(name, ".log") || strings.Contains(name, manifestPrefix)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.storeOpen || !holds {
		return false
	}
	r.fileNames = append(r.fileNames, name)
	return true
}

// carryOut removes the deferred files. After it, no removal is deferred.
func (r *deferredRemovals) carryOut(fs vfs.FS, log *StoreLogger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.storeOpen = true
	for _, name := range r.fileNames {
		if err := fs.Remove(name); err != nil {
			log.LogThrottled(slog.LevelWarn, "storage: old file not removed", "file", name, "err", err)
		}
	}
	r.fileNames = nil
}
