package persist

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/base/partition"
)

// keyRange is the range of keys from from (inclusive) to to (exclusive).
type keyRange struct{ from, to []byte }

// ofKind are all keys of a kind.
func ofKind(k rowKind) keyRange { return keyRange{[]byte{byte(k)}, []byte{byte(k) + 1}} }

// prefixRange are all keys that begin with prefix, including prefix itself.
func prefixRange(prefix []byte) keyRange { return keyRange{prefix, endOfPrefix(prefix)} }

// afterKey returns the part of s after key.
func (s keyRange) afterKey(key []byte) keyRange {
	return keyRange{append(key[:len(key):len(key)], 0), s.to}
}

// errStop ends a scan early and without an error.
var errStop = errors.New("stop")

// scanKeys calls row for every key. Key and value are valid during the call only.
func scanKeys(db pebble.Reader, keys keyRange, row func(key, value []byte) error) error {
	return walkKeys(db, keys, (*pebble.Iterator).First, (*pebble.Iterator).Next, row)
}

// scanBack is scan from the last key to the first.
func scanBack(db pebble.Reader, keys keyRange, row func(key, value []byte) error) error {
	return walkKeys(db, keys, (*pebble.Iterator).Last, (*pebble.Iterator).Prev, row)
}

func walkKeys(db pebble.Reader, keys keyRange, begin, step func(*pebble.Iterator) bool, row func(key, value []byte) error) error {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: keys.from, UpperBound: keys.to})
	if err != nil {
		return err
	}
	for ok := begin(it); ok; ok = step(it) {
		value, err := it.ValueAndErr()
		if err == nil {
			err = row(it.Key(), value)
		}
		if errors.Is(err, errStop) {
			break
		}
		if err != nil {
			_ = it.Close() // err is the first error
			return lostError(err)
		}
	}
	return lostError(it.Close()) // reports what ended the iteration
}

// checkOwned refuses a key of a group that this node does not own. Every read of rows for a caller
// checks it, as every write goes through batchOf. After the check, the result belongs to a moment
// at which this node owned the group.
func (e *storageEngine) checkOwned(key []byte) error {
	g := groupOfKey(key)
	err := e.owner.CheckGroup(g)
	if err != nil {
		pastOwner(e.owner.EverOwned(g), key)
	}
	return err
}

// pastOwner is called for each refused read or batch; had says whether this node has owned its group.
// With the build tag ownercheck, access to a group that this node never owned panics in a new
// goroutine, so that no caller can recover from it.
var pastOwner = func(had bool, of any) {
	if partition.Checked && !had {
		seen := fmt.Sprintf("past the owner: %x\n%s", of, debug.Stack())
		go panic(seen)
		select {}
	}
}

// ofOne reports that the keys are of one entity.
func (s keyRange) ofOne() bool { return len(s.to) > prefixLen }

// ownedRows wraps row for a scan by this node. A scan of one entity is refused if another node owns
// it; a scan of many entities skips those of other nodes.
func (e *storageEngine) ownedRows(keys keyRange, row func(key, value []byte) error) (func(key, value []byte) error, error) {
	if keys.ofOne() {
		return row, e.checkOwned(keys.from)
	}
	return func(key, value []byte) error {
		if !e.owner.OwnsGroup(groupOfKey(key)) {
			return nil
		}
		return row(key, value)
	}, nil
}

func (e *storageEngine) scanRows(keys keyRange, row func(key, value []byte) error) error {
	return e.scanBy(scanKeys, keys, row)
}

func (e *storageEngine) scanBack(keys keyRange, row func(key, value []byte) error) error {
	return e.scanBy(scanBack, keys, row)
}

func (e *storageEngine) scanBy(way func(pebble.Reader, keyRange, func(key, value []byte) error) error, keys keyRange, row func(key, value []byte) error) error {
	return e.runCall(func() error {
		row, err := e.ownedRows(keys, row)
		if err != nil {
			return err
		}
		return way(e.db, keys, row)
	})
}

// scanHeads calls row for the first row of each entity. row returns the prefix of all keys of the
// entity, and the next call is for the first row after them. Partitions of other nodes are
// skipped.
func (e *storageEngine) scanHeads(keys keyRange, row func(key, value []byte) (entity []byte, err error)) error {
	var next []byte
	seek := func(it *pebble.Iterator) bool { return it.SeekGE(next) }
	return e.runCall(func() error {
		return walkKeys(e.db, keys, (*pebble.Iterator).First, seek, func(key, value []byte) error {
			entity, err := key[:prefixLen], error(nil)
			if e.owner.OwnsGroup(groupOfKey(key)) {
				entity, err = row(key, value)
			}
			if err == nil {
				next = endOfPrefix(entity)
			}
			return err
		})
	})
}

// listRows reads up to limit rows in the order of their keys, or all if limit is negative.
func listRows[T any](e *storageEngine, keys keyRange, limit int, item func(key, value []byte) (T, error)) ([]T, error) {
	return collectRows(limit, item, func(row func(key, value []byte) error) error { return e.scanRows(keys, row) })
}

// collectRows is list for the rows of any scan.
func collectRows[T any](limit int, item func(key, value []byte) (T, error), scan func(row func(key, value []byte) error) error) (out []T, err error) {
	err = scan(func(key, value []byte) error {
		if len(out) == limit {
			return errStop
		}
		one, err := item(key, value)
		out = append(out, one)
		return err
	})
	return out, err
}

// readRow calls row with the value of key, if the key exists.
func (e *storageEngine) readRow(key []byte, row func(value []byte) error) (found bool, err error) {
	err = e.runCall(func() error {
		found, err = e.readInside(key, row)
		return err
	})
	return found, err
}

// readInside is read within during. Every read of a single row must use it. If a value in a value
// file is unreadable, Pebble's Get drops the error and returns nil; only the closer returns the
// error. An empty value is therefore an error: no stored row is empty.
//
// Get reads the filter of a table first. If only that filter is damaged, a scan of the single key
// still finds the row.
func (e *storageEngine) readInside(key []byte, row func(value []byte) error) (found bool, err error) {
	if err := e.checkOwned(key); err != nil {
		return false, err
	}
	value, closer, err := e.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		whole := scanKeys(e.db, keyRange{key, append(key[:len(key):len(key)], 0)}, func(_, value []byte) error {
			found = true
			return row(value)
		})
		return found, whole
	}
	if err = errNoValue; len(value) > 0 {
		err = row(value)
	}
	if closed := closer.Close(); closed != nil {
		err = lostError(closed)
	}
	return true, err
}

// errNoValue reports a row without a value. Such a row is never written.
var errNoValue = errors.New("the row has lost its value")

// getRecord decodes the record of key into rec.
func (e *storageEngine) getRecord(key []byte, rec any) (found bool, err error) {
	return e.readRow(key, func(value []byte) error { return decodeRecord(value, rec) })
}

// hasKey reports whether there is a row under key.
func (e *storageEngine) hasKey(key []byte) (bool, error) {
	return e.readRow(key, func([]byte) error { return nil })
}

func (e *storageEngine) hasInside(key []byte) (bool, error) {
	return e.readInside(key, func([]byte) error { return nil })
}
