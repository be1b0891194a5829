package report

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"inboxd/bench/drive"
)

// Machine is where a run took place. What cannot be read is "unknown" or zero.
type Machine struct {
	CPU         string  `json:"cpu"`
	Cores       int     `json:"cores"`
	MemoryGiB   float64 `json:"memory_gib"`
	Kernel      string  `json:"kernel"`
	Filesystem  string  `json:"filesystem"` // of the data folder
	Go          string  `json:"go"`
	LoadAverage string  `json:"load_average"` // before the load: what else was running
}

func (m Machine) String() string {
	return fmt.Sprintf("machine: %s, %d cores, %.1f GiB, Linux %s, %s, %s, load average before %s",
		m.CPU, m.Cores, m.MemoryGiB, m.Kernel, m.Filesystem, m.Go, m.LoadAverage)
}

// Describe reads it; dir is on the disk that is measured.
func Describe(dir string) Machine {
	memory, _, _ := strings.Cut(drive.ProcField("/proc/meminfo", "MemTotal"), " ")
	kib, _ := strconv.ParseFloat(memory, 64)
	return Machine{
		CPU:         orUnknown(drive.ProcField("/proc/cpuinfo", "model name")),
		Cores:       runtime.NumCPU(),
		MemoryGiB:   kib / (1 << 20),
		Kernel:      orUnknown(drive.ReadLine("/proc/sys/kernel/osrelease")),
		Filesystem:  orUnknown(filesystemOf(dir)),
		Go:          runtime.Version(),
		LoadAverage: orUnknown(drive.ReadLine("/proc/loadavg")),
	}
}

// filesystemOf names the type of the mount that holds dir: the longest mount point above it
// (proc_pid_mountinfo(5): field 5 is the mount point, the first after " - " the type).
func filesystemOf(dir string) (kind string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	longest := ""
	for line := range strings.Lines(drive.ReadLine("/proc/self/mountinfo")) {
		head, tail, _ := strings.Cut(line, " - ")
		fields, types := strings.Fields(head), strings.Fields(tail)
		if len(fields) < 5 || len(types) == 0 || len(fields[4]) < len(longest) {
			continue
		}
		if under := strings.TrimSuffix(fields[4], "/") + "/"; strings.HasPrefix(dir+"/", under) {
			longest, kind = fields[4], types[0]
		}
	}
	return kind
}
