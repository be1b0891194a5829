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

// Marker files by which the engine finds its other files: the current manifest, and the format
// version.
const (
	manifestMarker = "marker.manifest."
	formatMarker   = "marker.format-version."
	manifestPrefix = "MANIFEST-"
	firstManifest  = manifestPrefix + "000001"
)

// checkDatabase refuses a folder that has lost the marker files of the engine, or the whole
// database. The engine would treat it as new: overwrite its first manifest, use up the spare log,
// and reuse file numbers, before anything counts what is missing. A refusal changes nothing.
func (f *DataFolder) checkDatabase() error {
	names, err := f.FS.List(f.FilePath(EngineName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the database in the data folder %s cannot be read: %w", f.Dir, err)
	}
	what := missingFile(names)
	if what == "" || f.isNew(names) {
		return nil
	}
	advice := "Restore a backup of the folder"
	if slices.ContainsFunc(names, isDatabase) {
		advice += ", or copy what can be read with inboxd check --repair"
	}
	return fmt.Errorf("the data folder %s has lost data: %s. Nothing was changed. %s", f.Dir, what, advice)
}

// missingFile returns which marker file is missing, or that the database is; empty if nothing is
// missing.
func missingFile(names []string) string {
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

// standIn shows a read-only engine the marker files that a folder has lost, as lost says. The
// newest manifest becomes current; if a crash left it unfinished, its reader reports that. Without
// a manifest, standIn returns lost.
func (f *DataFolder) standIn(lost error) error {
	names, err := f.FS.List(f.FilePath(EngineName))
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, manifestPrefix) })
	if lost == nil || err != nil || len(names) == 0 {
		return lost
	}
	newest := slices.MaxFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	for _, marker := range []string{manifestMarker + "000000." + newest, fmt.Sprintf("%s000000.%03d", formatMarker, pebble.FormatNewest)} {
		f.missingFiles = append(f.missingFiles, f.FS.PathJoin(f.FilePath(EngineName), marker)) // an existing marker has a greater number
	}
	return LostEnd{lost}
}

// isDatabase reports whether a name is of a file that holds rows, or of one that leads to such a
// file.
func isDatabase(name string) bool {
	return isTable(name) || isLog(name) || strings.HasPrefix(name, manifestPrefix) || strings.HasPrefix(name, "marker.")
}

// isNew reports whether a crash during the first start may have left an incomplete database. In
// that state nothing is committed and no table was written. The folder for large values does not
// exist, because it is created after the database is open.
//
// The engine creates its first manifest, writes its marker, starts a log, and writes the format
// marker, each durable before the next. So a log, or another manifest, without a marker means that
// the marker was lost.
func (f *DataFolder) isNew(names []string) bool {
	_, err := f.FS.Stat(f.FilePath(BlobsName))
	if err == nil || f.Commits.previousMark.commitCount > 0 {
		return false
	}
	named := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, manifestMarker) })
	return !slices.ContainsFunc(names, func(name string) bool {
		return isTable(name) || isLog(name) && !named || strings.HasPrefix(name, manifestPrefix) && name != firstManifest
	})
}
