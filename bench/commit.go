package bench

import (
	"debug/buildinfo"
	"runtime/debug"
)

// commit is the one that was stamped into the server's binary, or else into this program.
func (s *Server) commit() string {
	if info, err := buildinfo.ReadFile(s.binary); err == nil && revision(info) != "" {
		return revision(info)
	}
	if own, ok := debug.ReadBuildInfo(); ok && revision(own) != "" {
		return revision(own)
	}
	return "unknown"
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
