// Command notice writes NOTICE: the modules that are linked into the programs, and their licences,
// as they lie in the module cache. It refuses to know what any licence asks for.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "folder of the module")
	check := flag.Bool("check", false, "fail when NOTICE is not up to date")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	text, err := notice(root)
	if err != nil {
		return err
	}
	path := filepath.Join(root, "NOTICE")
	if !check {
		return os.WriteFile(path, text, 0o644)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) {
		return errors.Join(err, errors.New("NOTICE is not that of the modules in go.mod: run make notice"))
	}
	return nil
}

// programs are what is given to others.
var programs = []string{"./cmd/inboxd", "./cmd/inbox", "./cmd/inbox-mcp", "./cmd/inbox-bench"}

// folders are those of a module in which linked packages lie, the root of the module among them.
type module struct {
	name, dir string
	folders   map[string]bool
}

// notice is the text for what is linked on Linux, with cgo and without.
func notice(root string) ([]byte, error) {
	modules := map[string]*module{}
	for _, cgo := range []string{"0", "1"} {
		list := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"}, programs...)...)
		list.Dir, list.Stderr = root, os.Stderr
		list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED="+cgo)
		out, err := list.Output()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			if parts := strings.Split(strings.TrimSpace(line), "\t"); len(parts) == 3 {
				m := modules[parts[0]]
				if m == nil {
					m = &module{parts[0], parts[1], map[string]bool{parts[1]: true}}
					modules[parts[0]] = m
				}
				for dir := parts[2]; len(dir) > len(m.dir); dir = filepath.Dir(dir) {
					m.folders[dir] = true
				}
			}
		}
	}
	goRoot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	dir := strings.TrimSpace(string(goRoot))
	var text bytes.Buffer
	fmt.Fprintf(&text, "Modules that are linked into the programs of this repository, and their licences. Made by make notice.\n")
	if err := (&module{"The Go standard library and runtime", dir, map[string]bool{dir: true}}).write(&text); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		if err := modules[name].write(&text); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents|copyright)([-._].*)?$`)

// write writes the licences of a module, each text once.
func (m *module) write(text *bytes.Buffer) error {
	fmt.Fprintf(text, "\n%s\n%s\n", strings.Repeat("=", 80), m.name)
	seen := map[string]bool{}
	for _, folder := range slices.Sorted(maps.Keys(m.folders)) {
		files, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, file := range files {
			if !licenceFile.MatchString(file.Name()) || !file.Type().IsRegular() || strings.HasSuffix(file.Name(), ".go") {
				continue
			}
			data, err := os.ReadFile(filepath.Join(folder, file.Name()))
			if err != nil {
				return err
			}
			licence := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
			if seen[licence] {
				continue
			}
			seen[licence] = true
			name, _ := filepath.Rel(m.dir, filepath.Join(folder, file.Name()))
			fmt.Fprintf(text, "%s\n%s:\n\n%s\n", strings.Repeat("-", 80), name, licence)
		}
	}
	if len(seen) == 0 {
		return fmt.Errorf("%s has no licence in %s", m.name, m.dir)
	}
	return nil
}
