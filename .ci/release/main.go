// Command release makes the files of a release: archives, Debian packages, an image, a bundle of
// the tool server, lists of components and checksums. It needs Go and the modules of its go.mod, and
// no container engine. The same commit and the same Go version always give the same bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// release is what one run makes.
type release struct {
	version    string
	repository string    // URL at which it will be public, or ""
	root, out  string    // folder of the sources; folder of the results
	time       time.Time // of the commit: the modification time of everything
	platforms  []platform
	stage      string // folder of the built programs, by platform
}

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version, such as 0.1.0")
	flag.StringVar(&r.repository, "repository", "", "https://github.com/OWNER/NAME: also makes server.json for the MCP registry")
	flag.StringVar(&r.root, "root", "../..", "folder of the sources")
	flag.StringVar(&r.out, "out", "../../dist", "folder of the results; it is emptied")
	platforms := flag.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64", "operating systems and architectures, as Go names them")
	flag.Parse()
	for _, name := range strings.Fields(*platforms) {
		system, architecture, _ := strings.Cut(name, "/")
		r.platforms = append(r.platforms, platform{system, architecture})
	}
	if err := r.make(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) make() (err error) {
	if r.time, err = r.commitTime(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if r.stage, err = os.MkdirTemp("", "release"); err != nil {
		return err
	}
	defer os.RemoveAll(r.stage)
	for _, p := range r.platforms {
		if err := r.build(p); err != nil {
			return fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
	}
	for _, step := range []func() error{r.writeImage, r.writeBundle, r.writeComponents, r.writeChecksums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// commitTime returns SOURCE_DATE_EPOCH, otherwise the time of the commit.
func (r *release) commitTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := r.run(nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, fmt.Errorf("no time of a commit, set SOURCE_DATE_EPOCH: %w", err)
		}
		text = strings.TrimSpace(out)
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: invalid time %q (seconds since 1970)", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build builds the programs of one platform and packs them.
func (r *release) build(p platform) error {
	fmt.Printf("Building the programs for %s/%s\n", p.os, p.arch)
	packages := []string{"./cmd/..."}
	if p.os != "linux" { // inbox-bench reads /proc
		out, err := r.run(nil, "go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./cmd/...")
		if err != nil {
			return err
		}
		packages = strings.Fields(strings.ReplaceAll(out, "inboxd/cmd/inbox-bench\n", ""))
	}
	dir := r.folder(p)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	stamp := "-s -w -X inboxd/internal/base/version.stamped=" + r.version
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", dir + "/"}, packages...)
	// No settings of the machine and no state of the checkout goes into a program.
	target := []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS="}
	if _, err := r.run(target, "go", args...); err != nil {
		return err
	}
	if err := r.writeArchive(p); err != nil || p.os != "linux" {
		return err
	}
	return r.writeDebian(p)
}

// run runs a program in the folder of the sources, with more environment variables, and returns its
// output.
func (r *release) run(environment []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.Output()
	return string(out), err
}

// folder is where the programs of a platform are.
func (r *release) folder(p platform) string { return filepath.Join(r.stage, p.os+"_"+p.arch) }

// writeChecksums lists the results with their SHA-256, as sha256sum does.
func (r *release) writeChecksums() error {
	results, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, result := range results {
		content, err := os.ReadFile(filepath.Join(r.out, result.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), result.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), list.Bytes(), 0o644)
}

// writeComponents writes a CycloneDX document for each program, from the modules that are linked
// into it.
func (r *release) writeComponents() error {
	folder := r.folder(r.platforms[0])
	programs, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	tools, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, program := range programs {
		out, err := filepath.Abs(filepath.Join(r.out, program.Name()+"_"+r.version+".cdx.json"))
		if err != nil {
			return err
		}
		_, err = r.run(nil, "go", "-C", tools, "tool", "cyclonedx-gomod", "bin", "-json", "-std", "-licenses", "-noserial", "-notimestamp",
			"-version", r.version, "-output", out, filepath.Join(folder, program.Name()))
		if err != nil {
			return fmt.Errorf("components of %s: %w", program.Name(), err)
		}
	}
	return nil
}
