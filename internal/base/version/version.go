// Package version says which build this is. It knows what was stamped into the program; it
// refuses to know what the version means for data on disk (see persist/disk).
package version

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// stamped is set by make build (-ldflags -X), and empty in a build by go build or go install.
var stamped string

// String is the version: what was stamped, else what the Go toolchain knows of the module or
// its commit, else "unknown".
var String = sync.OnceValue(func() string {
	if stamped != "" {
		return stamped
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "unknown"
})

// Line is what a program of ours answers to --version, such as
// "inboxd 1.2.0 (go1.26.0 linux/amd64)".
func Line(program string) string {
	return program + " " + String() + " (" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")"
}
