package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeBundle makes the bundle of the tool server for desktop programs (.mcpb). Its manifest can
// choose by operating system but not by architecture, so a script starts the right program.
func (r *release) writeBundle() error {
	sources := [][2]string{
		{filepath.Join(r.root, "cmd/inbox-mcp/manifest.json"), "manifest.json"},
		{filepath.Join(r.root, "LICENSE"), "LICENSE"},
		{filepath.Join(r.root, "NOTICE"), "NOTICE"},
		{"bundle/inbox-mcp", "server/inbox-mcp"},
	}
	for _, p := range r.platforms {
		sources = append(sources, [2]string{filepath.Join(r.folder(p), "inbox-mcp"), "server/" + p.os + "_" + p.arch + "/inbox-mcp"})
	}
	var entries []entry
	for _, source := range sources {
		mode := int64(0o644)
		if filepath.Base(source[1]) == "inbox-mcp" {
			mode = 0o755
		}
		e, err := readEntry(source[0], source[1], mode)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	var packed bytes.Buffer
	if err := writeZip(&packed, entries, r.time); err != nil {
		return err
	}
	name := "inbox-mcp_" + r.version + ".mcpb"
	if err := os.WriteFile(filepath.Join(r.out, name), packed.Bytes(), 0o644); err != nil {
		return err
	}
	return r.writeServerJSON(name, packed.Bytes())
}

// writeServerJSON completes server.json for the MCP registry with the place and the checksum of the
// bundle. Without a public place there is nothing to register.
func (r *release) writeServerJSON(bundle string, packed []byte) error {
	if r.repository == "" {
		return nil
	}
	owner, name, found := strings.Cut(strings.TrimPrefix(r.repository, "https://github.com/"), "/")
	if !found || strings.Contains(name, "/") {
		return fmt.Errorf("-repository: invalid URL %q (https://github.com/OWNER/NAME)", r.repository)
	}
	content, err := os.ReadFile(filepath.Join(r.root, "cmd/inbox-mcp/server.json"))
	if err != nil {
		return err
	}
	text := strings.NewReplacer("OWNER", owner, "NAME", name, strings.Repeat("0", 64), fmt.Sprintf("%x", sha256.Sum256(packed))).Replace(string(content))
	return r.writeResult("server.json", func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
