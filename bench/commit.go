package bench

import (
	"cmp"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// commit names what is measured: what the caller said, else what was stamped into the server's binary, else into this
// program, else the tree around us, if it is this module's.
func (s *Server) commit(said string) string {
	own, ok := debug.ReadBuildInfo()
	if !ok {
		own = new(debug.BuildInfo)
	}
	return cmp.Or(said, s.stamped(), revision(own), head(own.Main.Path), "unknown")
}

// stamped is the commit that the server was built from; empty when nobody knows.
func (s *Server) stamped() string {
	info, err := buildinfo.ReadFile(s.binary)
	if err != nil {
		return ""
	}
	return revision(info)
}

// head is the commit of the working folder, where its repository is the module's: another one says nothing of the server.
func head(module string) string {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel", "HEAD").Output()
	top, commit, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || !ok {
		return ""
	}
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil || !slices.Contains(strings.Split(string(mod), "\n"), "module "+module) {
		return ""
	}
	return commit + " (working folder)"
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
