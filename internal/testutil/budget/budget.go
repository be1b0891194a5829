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

// MeasureOnce runs work once.
func MeasureOnce(work func()) Of {
	runtime.GC()
	bytes, cpu := allocatedBytes(), processCPU()
	work()
	return Of{processCPU() - cpu, allocatedBytes() - bytes}
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
		allowed = time.Duration(float64(limit.CPU) * slownessFactor())
		if took = MeasureOnce(work); took.CPU <= allowed {
			break
		}
	}
	if took.CPU > allowed || took.Bytes > limit.Bytes {
		t.Errorf("took %v and %d KiB, allowed are %v and %d KiB", took.CPU, took.Bytes>>10, allowed, limit.Bytes>>10)
	}
	return took
}

// referenceTime is the time of the calibration work on the machine on which the limits were set.
const referenceTime = 2500 * time.Microsecond

// slownessFactor is how many times longer this machine takes now; at least 1.
func slownessFactor() float64 {
	cpu := processCPU()
	calibrationWork()
	return max(1, float64(processCPU()-cpu)/float64(referenceTime))
}

// calibrationWork is the calibration work: table lookups for each byte of a text, like all parsing of
// messages.
//
//go:noinline
func calibrationWork() uint32 {
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

// processCPU is the CPU time of this process so far.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // RUSAGE_SELF is always valid
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// allocatedBytes is the number of bytes that this process has allocated so far, freed or not.
func allocatedBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
