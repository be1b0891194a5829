package persist

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// errStop ends a scan early and without an error.
var errStop = errors.New("stop")

// scan calls row for every key in [from, to). Key and value are valid during the call only.
func scan(db pebble.Reader, from, to []byte, row func(key, value []byte) error) error {
	return walk(db, from, to, (*pebble.Iterator).First, (*pebble.Iterator).Next, row)
}

func walk(db pebble.Reader, from, to []byte, begin, step func(*pebble.Iterator) bool, row func(key, value []byte) error) error {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
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
			return errors.Join(err, it.Close())
		}
	}
	return it.Close() // reports what ended the iteration
}

// scanBack is scan from the last key to the first.
func scanBack(db pebble.Reader, from, to []byte, row func(key, value []byte) error) error {
	return walk(db, from, to, (*pebble.Iterator).Last, (*pebble.Iterator).Prev, row)
}

// first returns copies of the first row in [from, to), nil when there is none.
func (s *Store) first(from, to []byte) (key, value []byte, err error) {
	err = scan(s.db, from, to, func(k, v []byte) error {
		key, value = append([]byte{}, k...), append([]byte{}, v...)
		return errStop
	})
	return key, value, err
}

// lookup returns the value of key, nil when there is none. A value that is not nil is
// valid until done is called.
func (s *Store) lookup(key []byte) (value []byte, done func(), err error) {
	value, closer, err := s.db.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return value, func() { _ = closer.Close() }, nil
}

// get decodes the record of key into rec.
func (s *Store) get(key []byte, rec any) (found bool, err error) {
	value, done, err := s.lookup(key)
	if value == nil || err != nil {
		return false, err
	}
	defer done()
	return true, decode(value, rec)
}

// has reports whether there is a row under key.
func (s *Store) has(key []byte) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	value, done, err := s.lookup(key)
	if value == nil || err != nil {
		return false, err
	}
	done()
	return true, nil
}
