package bench

import (
	"cmp"
	"debug/buildinfo"
	"runtime/debug"
)

// commit is the one that was stamped into the server's binary, or else into this program.
func (s *Server) commit() string {
	server, _ := buildinfo.ReadFile(s.binary)
	own, _ := debug.ReadBuildInfo()
	return cmp.Or(revision(server), revision(own), "unknown")
}

// revision reads the commit that the Go tool stamped into a binary; empty for none, and for nil.
func revision(info *debug.BuildInfo) (rev string) {
	if info == nil {
		return ""
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true": // always after the revision
			rev += "+changes"
		}
	}
	return rev
}
