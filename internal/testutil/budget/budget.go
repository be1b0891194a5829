// Package budget is for tests that limit the cost of hostile input. It measures CPU time of this
// process, so that other processes do not matter, and bytes allocated. It does not know the work.
package budget

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Of is the cost of a piece of work. Bytes counts all allocations, so it is at least the peak of
// the heap.
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

// AtMost runs work and fails the test if it exceeds limit three times in a row, because other load
// on the same core also increases CPU time. It returns the last attempt.
//
// A limit is for a machine on which the calibration work takes yardstick. If it takes longer, on a
// slow machine or under the race detector, the time limit is increased in proportion.
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

// yardstick is the time of the calibration work on the machine on which the limits were set.
const yardstick = 2500 * time.Microsecond

// slowness is how many times longer this machine takes now; at least 1.
func slowness() float64 {
	cpu := used()
	known()
	return max(1, float64(used()-cpu)/float64(yardstick))
}

// known is the calibration work: table lookups for each byte of a text, like all parsing of
// messages.
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

// used is the CPU time of this process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // RUSAGE_SELF is always valid
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// allocated is the number of bytes that this process has allocated so far, freed or not.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
