package persist

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/partition"
)

// positions counts the synced commits of each partition. Every such commit writes its
// partition's new position in its own batch, so the sum of what a start finds is the
// number of commits that are really there: the engine's own sequence number can't say
// that, because a flush records it in the manifest ahead of the synced log.
type positions [partition.Count]struct {
	// mu guards n, and orders the positions of a partition as their batches are ordered in
	// the log.
	mu sync.Mutex
	n  uint64
}

// load reads the positions and returns their sum.
func (p *positions) load(db *pebble.DB) (uint64, error) {
	sum := uint64(0)
	err := scan(db, ofKind(kindPosition), func(key, value []byte) error {
		if len(key) != prefixLen || len(value) != 9 || value[0] != recordVersion {
			return fmt.Errorf("damaged position %x", key)
		}
		n := binary.BigEndian.Uint64(value[1:])
		p[binary.BigEndian.Uint16(key[1:])%partition.Count].n = n
		sum += n
		return nil
	})
	return sum, err
}
