// Package budget is for tests that bound what hostile input may take: processor time of this
// process, so that others at work beside it change nothing, and bytes allocated. It refuses to
// know what the work is.
package budget

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Of is what a piece of work took. Bytes counts all that was allocated, so it is no less than
// the peak of the heap.
type Of struct {
	CPU   time.Duration
	Bytes uint64
}

// Measure runs work once.
func Measure(work func()) Of {
	runtime.GC()
	bytes, cpu := allocated(), used()
	work()
	return Of{used() - cpu, allocated() - bytes}
}

// AtMost runs work and fails the test when it takes more than limit, three times in a row:
// neighbours on the same core make even processor time longer. It returns the last try.
//
// A limit is meant for a machine on which the known piece of work takes yardstick. Where that
// takes longer, for want of speed or under the race detector, more time is allowed in proportion.
func AtMost(t testing.TB, limit Of, work func()) (took Of) {
	t.Helper()
	var allowed time.Duration
	for range 3 {
		allowed = time.Duration(float64(limit.CPU) * slowness())
		if took = Measure(work); took.CPU <= allowed {
			break
		}
	}
	if took.CPU > allowed || took.Bytes > limit.Bytes {
		t.Errorf("took %v and %d KiB, allowed are %v and %d KiB", took.CPU, took.Bytes>>10, allowed, limit.Bytes>>10)
	}
	return took
}

// yardstick is what known takes on the machine on which the limits were set.
const yardstick = 2500 * time.Microsecond

// slowness is how many times longer this machine takes now; never less than once.
func slowness() float64 {
	cpu := used()
	known()
	return max(1, float64(used()-cpu)/float64(yardstick))
}

// known is a walk over bytes that a table is asked about, as all reading of mail is.
//
//go:noinline
func known() uint32 {
	var table [256]uint32
	for i := range table {
		table[i] = uint32(i) * 2654435761
	}
	text := make([]byte, 64<<10)
	sum := uint32(1)
	for range 16 {
		for i := range text {
			sum = sum>>8 ^ table[byte(sum)^text[i]]
			text[i] = byte(sum)
		}
	}
	return sum
}

// used is the processor time of this process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the kernel knows RUSAGE_SELF
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
