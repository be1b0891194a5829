package disk

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// The files by which the engine finds its own: which manifest holds, and which format its files have.
const (
	manifestMarker = "marker.manifest."
	formatMarker   = "marker.format-version."
	manifestPrefix = "MANIFEST-"
	firstManifest  = manifestPrefix + "000001"
)

// checkDatabase refuses a folder that has lost the files by which the engine finds its own, or all of the
// database. The engine would take it for new: write over its first manifest, use up the spare log, and give
// numbers of files anew, before anybody counts what is missing. Nothing was changed when it refuses.
func (f *Folder) checkDatabase() error {
	names, err := f.FS.List(f.Path(EngineName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the database in the data folder %s cannot be read: %w", f.Dir, err)
	}
	what := lacks(names)
	if what == "" || f.isNew(names) {
		return nil
	}
	advice := "Restore a backup of the folder"
	if slices.ContainsFunc(names, isDatabase) {
		advice += ", or copy what can be read with inboxd check --repair"
	}
	return fmt.Errorf("the data folder %s has lost data: %s. Nothing was changed. %s", f.Dir, what, advice)
}

// lacks says which of the files by which the engine finds the others is missing; empty when none is.
func lacks(names []string) string {
	has := func(marker string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, marker) })
	}
	switch {
	case !slices.ContainsFunc(names, isDatabase):
		return "its database is missing (" + EngineName + ")"
	case !has(manifestMarker):
		return "the file that names the database's list of tables is missing (" + EngineName + "/" + manifestMarker + "*)"
	case !has(formatMarker):
		return "the file that names the database's format is missing (" + EngineName + "/" + formatMarker + "*)"
	}
	return ""
}

// standIn shows the engine, which reads only, what a folder has lost by which it would find its files: lost
// says so. The newest manifest holds; one that a crash left unfinished is told of when it is read. Where there is
// nothing to find, lost is the end.
func (f *Folder) standIn(lost error) error {
	names, err := f.FS.List(f.Path(EngineName))
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, manifestPrefix) })
	if lost == nil || err != nil || len(names) == 0 {
		return lost
	}
	newest := slices.MaxFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	for _, marker := range []string{manifestMarker + "000000." + newest, fmt.Sprintf("%s000000.%03d", formatMarker, pebble.FormatNewest)} {
		f.missing = append(f.missing, f.FS.PathJoin(f.Path(EngineName), marker)) // one that is there has a greater number
	}
	return LostEnd{lost}
}

// isDatabase reports whether a name is of a file that holds rows, or leads to one that does.
func isDatabase(name string) bool {
	return isTable(name) || isLog(name) || strings.HasPrefix(name, manifestPrefix) || strings.HasPrefix(name, "marker.")
}

// isNew reports whether a database that lacks something may be what a crash in the middle of the first start
// left: by then nothing is committed, no table was written, and the folder for large values, which is made once
// the database is open, is not there. The engine makes its first manifest, names it, begins a log, and names
// its format, each on disk before the next: a log, or another manifest, that nothing names was named before.
func (f *Folder) isNew(names []string) bool {
	_, err := f.FS.Stat(f.Path(BlobsName))
	if err == nil || f.Commits.previous.commits > 0 {
		return false
	}
	named := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, manifestMarker) })
	return !slices.ContainsFunc(names, func(name string) bool {
		return isTable(name) || isLog(name) && !named || strings.HasPrefix(name, manifestPrefix) && name != firstManifest
	})
}
