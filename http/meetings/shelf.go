package meetings

import (
	"sync"
	"time"
)

const (
	// shelfHolds bounds what lies on a shelf, in octets; what takes more than half of that is made each
	// time it is asked for.
	shelfHolds = 32 << 20
	// leastKept is what the least thing counts as, so that it stays a short work to find the idlest.
	leastKept = 4 << 10
	// shelfIdle is how long something lies there that nobody asks for.
	shelfIdle = 10 * time.Minute
)

// shelf keeps what was made of calendars, by the address of the inbox and what else tells one from
// another, until nobody has asked for it for a while. What lies on it never changes. Any goroutine may
// use it.
type shelf[T any] struct {
	mu    sync.Mutex // guards what is below
	kept  map[string]*kept[T]
	bytes int64
	sweep *time.Timer // nil: nothing is kept
}

type kept[T any] struct {
	what  T
	bytes int64
	used  time.Time
}

func newShelf[T any]() shelf[T] { return shelf[T]{kept: map[string]*kept[T]{}} }

// of is what is kept under the key if fits says that it is still good, else the zero T.
func (s *shelf[T]) of(key string, fits func(T) bool) (what T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kept[key]
	if k == nil || !fits(k.what) {
		return what
	}
	k.used = time.Now()
	return k.what
}

// put is for who holds mu; it takes the place of what was kept there.
func (s *shelf[T]) put(key string, what T, bytes int64) {
	s.drop(key)
	bytes = max(bytes, leastKept)
	if bytes > shelfHolds/2 {
		return
	}
	for s.bytes+bytes > shelfHolds {
		s.drop(s.idlest())
	}
	s.kept[key] = &kept[T]{what, bytes, time.Now()}
	s.bytes += bytes
	if s.sweep == nil {
		s.sweep = time.AfterFunc(shelfIdle, s.dropIdle)
	}
}

// idlest is what was not asked for the longest.
func (s *shelf[T]) idlest() (key string) {
	for other, k := range s.kept {
		if key == "" || k.used.Before(s.kept[key].used) {
			key = other
		}
	}
	return key
}

func (s *shelf[T]) drop(key string) {
	if k := s.kept[key]; k != nil {
		s.bytes -= k.bytes
		delete(s.kept, key)
	}
}

// dropIdle runs on a timer for as long as something is kept, and comes to its end by itself.
func (s *shelf[T]) dropIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, k := range s.kept {
		if time.Since(k.used) >= shelfIdle {
			s.drop(key)
		}
	}
	if s.sweep = nil; len(s.kept) > 0 {
		s.sweep = time.AfterFunc(shelfIdle, s.dropIdle)
	}
}

// Held is how many octets are kept.
func (s *shelf[T]) Held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
