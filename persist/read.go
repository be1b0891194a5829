package persist

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/base/partition"
)

// span is the range of keys from from (inclusive) to to (exclusive).
type span struct{ from, to []byte }

// ofKind are all keys of a kind.
func ofKind(k kind) span { return span{[]byte{byte(k)}, []byte{byte(k) + 1}} }

// under are all keys that begin with prefix, including prefix itself.
func under(prefix []byte) span { return span{prefix, end(prefix)} }

// behind returns the part of s after key.
func (s span) behind(key []byte) span { return span{append(key[:len(key):len(key)], 0), s.to} }

// errStop ends a scan early and without an error.
var errStop = errors.New("stop")

// scan calls row for every key. Key and value are valid during the call only.
func scan(db pebble.Reader, keys span, row func(key, value []byte) error) error {
	return walk(db, keys, (*pebble.Iterator).First, (*pebble.Iterator).Next, row)
}

// scanBack is scan from the last key to the first.
func scanBack(db pebble.Reader, keys span, row func(key, value []byte) error) error {
	return walk(db, keys, (*pebble.Iterator).Last, (*pebble.Iterator).Prev, row)
}

func walk(db pebble.Reader, keys span, begin, step func(*pebble.Iterator) bool, row func(key, value []byte) error) error {
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
			return lost(err)
		}
	}
	return lost(it.Close()) // reports what ended the iteration
}

// own refuses a key of a group that this node does not own. Every read of rows for a caller checks
// it, as every write goes through batchOf. After the check, the result belongs to a moment at which
// this node owned the group.
func (e *engine) own(key []byte) error {
	g := groupOfKey(key)
	err := e.owner.CheckGroup(g)
	if err != nil {
		pastOwner(e.owner.Had(g), key)
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
func (s span) ofOne() bool { return len(s.to) > prefixLen }

// ours wraps row for a scan by this node. A scan of one entity is refused if another node owns it; a
// scan of many entities skips those of other nodes.
func (e *engine) ours(keys span, row func(key, value []byte) error) (func(key, value []byte) error, error) {
	if keys.ofOne() {
		return row, e.own(keys.from)
	}
	return func(key, value []byte) error {
		if !e.owner.Owns(groupOfKey(key)) {
			return nil
		}
		return row(key, value)
	}, nil
}

func (e *engine) scan(keys span, row func(key, value []byte) error) error {
	return e.scanBy(scan, keys, row)
}

func (e *engine) scanBack(keys span, row func(key, value []byte) error) error {
	return e.scanBy(scanBack, keys, row)
}

func (e *engine) scanBy(way func(pebble.Reader, span, func(key, value []byte) error) error, keys span, row func(key, value []byte) error) error {
	return e.during(func() error {
		row, err := e.ours(keys, row)
		if err != nil {
			return err
		}
		return way(e.db, keys, row)
	})
}

// heads calls row for the first row of each entity. row returns the prefix of all keys of the
// entity, and the next call is for the first row after them. Partitions of other nodes are
// skipped.
func (e *engine) heads(keys span, row func(key, value []byte) (entity []byte, err error)) error {
	var next []byte
	seek := func(it *pebble.Iterator) bool { return it.SeekGE(next) }
	return e.during(func() error {
		return walk(e.db, keys, (*pebble.Iterator).First, seek, func(key, value []byte) error {
			entity, err := key[:prefixLen], error(nil)
			if e.owner.Owns(groupOfKey(key)) {
				entity, err = row(key, value)
			}
			if err == nil {
				next = end(entity)
			}
			return err
		})
	})
}

// list reads up to limit rows in the order of their keys, or all if limit is negative.
func list[T any](e *engine, keys span, limit int, item func(key, value []byte) (T, error)) ([]T, error) {
	return listed(limit, item, func(row func(key, value []byte) error) error { return e.scan(keys, row) })
}

// listed is list for the rows of any scan.
func listed[T any](limit int, item func(key, value []byte) (T, error), scan func(row func(key, value []byte) error) error) (out []T, err error) {
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

// read calls row with the value of key, if the key exists.
func (e *engine) read(key []byte, row func(value []byte) error) (found bool, err error) {
	err = e.during(func() error {
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
func (e *engine) readInside(key []byte, row func(value []byte) error) (found bool, err error) {
	if err := e.own(key); err != nil {
		return false, err
	}
	value, closer, err := e.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		whole := scan(e.db, span{key, append(key[:len(key):len(key)], 0)}, func(_, value []byte) error {
			found = true
			return row(value)
		})
		return found, whole
	}
	if err = errNoValue; len(value) > 0 {
		err = row(value)
	}
	if closed := closer.Close(); closed != nil {
		err = lost(closed)
	}
	return true, err
}

// errNoValue reports a row without a value. Such a row is never written.
var errNoValue = errors.New("the row has lost its value")

// get decodes the record of key into rec.
func (e *engine) get(key []byte, rec any) (found bool, err error) {
	return e.read(key, func(value []byte) error { return decode(value, rec) })
}

// has reports whether there is a row under key.
func (e *engine) has(key []byte) (bool, error) {
	return e.read(key, func([]byte) error { return nil })
}

func (e *engine) hasInside(key []byte) (bool, error) {
	return e.readInside(key, func([]byte) error { return nil })
}
