package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file or folder of an archive. A name that ends with / is a folder.
type entry struct {
	name    string
	mode    int64
	owner   int // user and group
	content []byte
}

// readEntry reads a file for an archive.
func readEntry(path, name string, mode int64) (entry, error) {
	content, err := os.ReadFile(path)
	return entry{name: name, mode: mode, content: content}, err
}

// writeArchive packs the programs of a platform with the license texts and the README.
func (r *release) writeArchive(p platform) error {
	base := "inboxd_" + r.version + "_" + p.os + "_" + p.arch
	entries := []entry{{name: base + "/", mode: 0o755}}
	programs, err := filepath.Glob(r.folder(p) + "/*")
	if err != nil {
		return err
	}
	others := []string{"LICENSE", "NOTICE", "README.md"}
	if p.os == "linux" {
		others = append(others, "docs/operate/inboxd.service")
	}
	for _, path := range append(programs, others...) {
		mode := int64(0o755)
		if !filepath.IsAbs(path) {
			path, mode = filepath.Join(r.root, path), 0o644
		}
		e, err := readEntry(path, base+"/"+filepath.Base(path), mode)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	return r.writeResult(base+".tar.gz", func(w io.Writer) error {
		compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := writeTar(compressed, entries, r.time); err != nil {
			return err
		}
		return compressed.Close()
	})
}

// writeResult creates a file in the folder of the results.
func (r *release) writeResult(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}

func writeTar(w io.Writer, entries []entry, modified time.Time) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.content)), ModTime: modified, Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(e.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeZip(w io.Writer, entries []entry, modified time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Modified: modified, Method: zip.Deflate}
		header.SetMode(os.FileMode(e.mode))
		file, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.content); err != nil {
			return err
		}
	}
	return archive.Close()
}
