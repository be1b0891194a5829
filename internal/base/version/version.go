// Package version identifies the build, by the version that was stamped into the program. It does
// not know what the version means for data on disk (see persist/disk).
package version

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// stamped is set by make build and make dist (-ldflags -X), and empty in a build by go build or go install.
var stamped string

// BuildString is the version: the stamped one, else the version or commit of the module from the Go
// toolchain, else "unknown".
var BuildString = sync.OnceValue(func() string {
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

// ProgramLine is the output of a program for --version, such as "inboxd 1.2.0 (go1.26.0 linux/amd64)".
func ProgramLine(program string) string {
	return program + " " + BuildString() + " (" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")"
}
