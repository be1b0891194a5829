package resolve

import (
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/testutil/dnstest"
)

// TestKnownTXT checks that a cached answer equals a lookup, for as long as it is cached and no
// longer.
func TestKnownTXT(t *testing.T) {
	var ahead atomic.Int64
	begin := time.Now()
	clock := func() time.Time { return begin.Add(time.Duration(ahead.Load())) }
	server := dnstest.StartServer(t, append(slices.Clone(zone), `a\ b.example.com. 300 IN TXT "a name with a blank"`)...)
	r := New(server.Addr, Options{Clock: clock})
	for _, c := range []struct {
		name    string
		records int
	}{
		{"example.com", 2}, {"a.example.com", 0}, {"nowhere.example.com", 0}, {"dangling.example.com", 0}, {"loop.example.com", 0}, {"a b.example.com", 1},
	} {
		if list, err, known := r.KnownTXT(c.name); known || list != nil {
			t.Errorf("%s is known before it was asked for: %q, %v", c.name, list, err)
		}
		want, wantErr := r.LookupTXT(t.Context(), c.name)
		if len(want) != c.records {
			t.Errorf("%s: %q, %v", c.name, want, wantErr)
		}
		for _, name := range []string{c.name, strings.ToUpper(c.name) + "."} {
			if list, err, known := r.KnownTXT(name); !known || !slices.Equal(list, want) || !reflect.DeepEqual(err, wantErr) {
				t.Errorf("%s: knows %q, %v, %t; looks up %q, %v", name, list, err, known, want, wantErr)
			}
		}
	}
	// A name consists of its characters, and is never treated as the escape of another name.
	if list, err, known := r.KnownTXT(`a\ b.example.com`); known {
		t.Errorf("%q, %v", list, err)
	}
	if list, err, known := r.KnownTXT(strings.Repeat("x", 64) + ".com"); !known || list != nil || !NoSuchDomain(err) {
		t.Errorf("what can't be a name: %q, %v, %t", list, err, known)
	}
	ahead.Store(int64(301 * time.Second))
	if list, err, known := r.KnownTXT("example.com"); known {
		t.Errorf("still known when its time is over: %q, %v", list, err)
	}
}
