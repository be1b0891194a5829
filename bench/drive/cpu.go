package drive

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every Linux that Go
// runs on.
const clockTick = time.Second / 100

// cpuTime is what all threads of a process computed, in their own code and in the kernel for
// them.
type cpuTime struct{ user, system time.Duration }

func (a cpuTime) plus(b cpuTime) cpuTime  { return cpuTime{a.user + b.user, a.system + b.system} }
func (a cpuTime) minus(b cpuTime) cpuTime { return cpuTime{a.user - b.user, a.system - b.system} }

// cpu is what the child computed so far; nothing for a nil process, whose work is not ours
// to count.
func (p *Process) cpu() (cpuTime, error) {
	if p == nil {
		return cpuTime{}, nil
	}
	path := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat")
	stat, err := os.ReadFile(path)
	if err != nil {
		return cpuTime{}, fmt.Errorf("processor time of %s: %w", p.name, err)
	}
	t, err := parseStat(string(stat))
	if err != nil {
		return cpuTime{}, fmt.Errorf("processor time of %s: %s: %w", p.name, path, err)
	}
	return t, nil
}

// parseStat reads utime and stime (proc_pid_stat(5), fields 14 and 15). The second field is
// the program's name in parentheses, which may itself hold spaces and parentheses.
func parseStat(stat string) (cpuTime, error) {
	const afterName = 3 // number of the first field after the name
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= 15-afterName {
		return cpuTime{}, fmt.Errorf("cannot read %.80q", stat)
	}
	user, err1 := strconv.ParseInt(fields[14-afterName], 10, 64)
	system, err2 := strconv.ParseInt(fields[15-afterName], 10, 64)
	if err1 != nil || err2 != nil {
		return cpuTime{}, fmt.Errorf("cannot read %.80q", stat)
	}
	return cpuTime{time.Duration(user) * clockTick, time.Duration(system) * clockTick}, nil
}

const (
	settleLook   = 400 * time.Millisecond
	settleWithin = 10 * time.Second
)

// atRest reports whether a process that computed so much in one look does next to nothing.
func atRest(did cpuTime) bool { return did.user+did.system < settleLook/20 }

// Settle waits until p has done what the preparation left for later, so that it is charged to
// no turn; at most settleWithin.
func (p *Process) Settle(ctx context.Context) error {
	look := time.NewTicker(settleLook)
	defer look.Stop()
	before, err := p.cpu()
	for end := time.Now().Add(settleWithin); err == nil && time.Now().Before(end); {
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var now cpuTime
		now, err = p.cpu()
		if atRest(now.minus(before)) {
			return err
		}
		before = now
	}
	return err
}

// CPU is a target's processor time per operation, right or wrong, in microseconds.
type CPU struct {
	User   float64   `json:"user_us"`
	System float64   `json:"system_us"`
	Rounds []float64 `json:"rounds_us,omitempty"` // both together
}

// cost spreads the processor time of a round over its operations; nil when either is nothing.
func (r Round) cost() *CPU {
	n := float64(r.Count + r.Errors)
	if n == 0 || r.cpu == (cpuTime{}) {
		return nil
	}
	return &CPU{User: microseconds(r.cpu.user) / n, System: microseconds(r.cpu.system) / n}
}

// Total is both parts; zero when the cost is not known.
func (c *CPU) Total() float64 {
	if c == nil {
		return 0
	}
	return c.User + c.System
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
