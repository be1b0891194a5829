package bench

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
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

func describeMachine(dir string) Machine {
	memory, _, _ := strings.Cut(procField("/proc/meminfo", "MemTotal"), " ")
	kib, _ := strconv.ParseFloat(memory, 64)
	return Machine{
		CPU:         orUnknown(procField("/proc/cpuinfo", "model name")),
		Cores:       runtime.NumCPU(),
		MemoryGiB:   kib / (1 << 20),
		Kernel:      orUnknown(readLine("/proc/sys/kernel/osrelease")),
		Filesystem:  orUnknown(filesystemOf(dir)),
		Go:          runtime.Version(),
		LoadAverage: orUnknown(readLine("/proc/loadavg")),
	}
}

// procField returns the value of the first "name : value" line, as proc(5) files have them.
func procField(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func readLine(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

// filesystemOf names the type of the mount that holds dir: the longest mount point above it
// (proc_pid_mountinfo(5): field 5 is the mount point, the first after " - " the type).
func filesystemOf(dir string) (kind string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	longest := ""
	for line := range strings.Lines(readLine("/proc/self/mountinfo")) {
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

// commit names what is measured: what the caller said, else what the server's binary was
// built from, else the tree around us.
func (s *Server) commit(said string) string {
	if said != "" {
		return said
	}
	if info, err := buildinfo.ReadFile(s.binary); err == nil {
		if rev := revision(info); rev != "" {
			return rev
		}
	}
	if out, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil {
		return strings.TrimSpace(string(out)) + " (working folder)"
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return orUnknown(revision(info))
	}
	return orUnknown("")
}

// revision reads the commit that the Go tool stamped into a binary.
func revision(info *debug.BuildInfo) string {
	var rev, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}
