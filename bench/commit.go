package bench

import (
	"cmp"
	"debug/buildinfo"
	"os/exec"
	"runtime/debug"
	"strings"
)

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
		return cmp.Or(revision(info), "unknown")
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
