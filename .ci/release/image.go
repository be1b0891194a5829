package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// writeImage makes an archive in the layout of OCI, with an index of the images of all Linux
// platforms. Without the containerd image store, docker load reads manifest.json instead, which can
// name one platform only.
func (r *release) writeImage() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var legacy []byte
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		image, err := r.image(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
		if legacy == nil {
			if legacy, err = r.legacyManifest(image); err != nil {
				return err
			}
		}
	}
	folder := filepath.Join(r.stage, "image")
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	names := map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "docker.io/library/inboxd:" + r.version}
	if err := path.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	if err := path.WriteFile("manifest.json", legacy, 0o644); err != nil {
		return err
	}
	entries, err := readFolder(folder)
	if err != nil {
		return err
	}
	return r.writeResult("inboxd_"+r.version+"_oci.tar", func(w io.Writer) error { return writeTar(w, entries, r.time) })
}

// image returns the image of a platform: one layer on nothing, with the settings in image.json.
func (r *release) image(p platform) (v1.Image, error) {
	files, err := r.imageFiles(p)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if err := writeTar(&content, files, r.time); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: r.time}
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "make dist"}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	settings, err := os.ReadFile("image.json")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(settings, &config.Config); err != nil {
		return nil, err
	}
	config.OS, config.Architecture, config.Created = p.os, p.arch, created
	config.Config.Labels = map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"}
	return mutate.ConfigFile(image, config)
}

// imageFiles returns the content of the layer.
func (r *release) imageFiles(p platform) ([]entry, error) {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		// What a root may still sign cannot be said in this format: such a root is not trusted.
		if root.Constraint == nil {
			if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
				return nil, err
			}
		}
	}
	files := []entry{
		{name: "data/", mode: 0o700, owner: 65532},
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates.Bytes()},
	}
	for _, path := range []string{filepath.Join(r.folder(p), "inboxd"), filepath.Join(r.root, "LICENSE"), filepath.Join(r.root, "NOTICE")} {
		file, err := readEntry(path, filepath.Base(path), 0o755)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// legacyManifest returns the manifest.json that docker load reads when it does not know the layout.
func (r *release) legacyManifest(image v1.Image) ([]byte, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	type entry struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	e := entry{Config: "blobs/sha256/" + manifest.Config.Digest.Hex, RepoTags: []string{"inboxd:" + r.version}}
	for _, layer := range manifest.Layers {
		e.Layers = append(e.Layers, "blobs/sha256/"+layer.Digest.Hex)
	}
	return json.Marshal([]entry{e})
}

// readFolder reads all files of a folder for an archive, in the order of their names.
func readFolder(folder string) (entries []entry, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			entries = append(entries, entry{name: name + "/", mode: 0o755})
			return nil
		}
		file, err := readEntry(path, name, 0o644)
		entries = append(entries, file)
		return err
	})
	return entries, err
}
