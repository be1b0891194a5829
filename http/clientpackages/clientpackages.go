// Package clientpackages contains the packages of the Python and TypeScript clients as pip and npm
// install them, built from the sources in clients (make client-packages) and embedded, and the page
// that lists them. It does not know requests (ADR 0123).
package clientpackages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
)

//go:embed built
var builtFiles embed.FS

// pip reads the links of the page with --find-links, and verifies the digests.
var indexTemplate = template.Must(template.New("clients").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Clients</title></head>
<body>
<h1>Clients of this server</h1>
{{range .Packages}}<h2>{{.Language}}</h2>
<p><a href="clients/{{.Path}}#sha256={{.Digest}}">{{.File}}</a> ({{.Needs}})</p>
<pre>{{.Command}} {{$.Base}}/clients/{{.Path}}</pre>
{{end}}<p>Both read the server from <code>INBOX_BASE_URL</code> and the key from <code>INBOX_API_KEY</code>. <a href="docs">The API</a></p>
</body>
</html>
`))

// indexEntry is one package on the page.
type indexEntry struct {
	Language, Path, File, Digest string
	Command, Needs               string
}

// Files returns the built packages by their path below /clients.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(builtFiles, "built", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name[len("built/"):]], err = builtFiles.ReadFile(name)
		return err
	})
	return files, err
}

// RenderIndex returns an HTML page with the packages and the commands that install them. base is the
// URL of the service for clients.
func RenderIndex(base string) ([]byte, error) {
	files, err := Files()
	if err != nil {
		return nil, err
	}
	kinds := []struct{ folder, language, command, needs string }{
		{"python", "Python", "pip install", "Python 3.9 or later; pip also installs httpx from PyPI"},
		{"typescript", "TypeScript", "npm install", "Node 20 or later; nothing else is installed"},
	}
	var list []indexEntry
	for _, kind := range kinds {
		for name, body := range files {
			if path.Dir(name) == kind.folder {
				list = append(list, indexEntry{kind.language, name, path.Base(name), fmt.Sprintf("%x", sha256.Sum256(body)), kind.command, kind.needs})
			}
		}
	}
	var page bytes.Buffer
	err = indexTemplate.Execute(&page, map[string]any{"Base": base, "Packages": list})
	return page.Bytes(), err
}
