package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"inboxd/http/contract"
	"inboxd/internal/testutil/testtools"
)

// restOfReadme are the incomplete code blocks of the TypeScript client's README, after the
// declarations they need.
func restOfReadme(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile(typescriptClient + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := `import { Inboxd, verifyWebhook } from "inboxd";
declare const client: Inboxd, rawBody: Uint8Array, request: Request;
declare let savedCursor: string;
const inbox = client.inbox("a@b.test");
`
	for _, block := range regexp.MustCompile("(?s)\n```ts\n(.*?)```").FindAllSubmatch(readme, -1) {
		if !bytes.Contains(block[1], []byte("import ")) {
			text += string(block[1])
		}
	}
	return text
}

// contractSamples returns the examples of the contract in a language, each after start and before end.
// %s in start is replaced by the operation's name.
func contractSamples(t *testing.T, language, start, indent, end string) (text string) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(contract.OpenAPI().BodyBytes, &doc); err != nil {
		t.Fatal(err)
	}
	samples := 0
	for _, item := range doc.Paths {
		for _, raw := range item {
			var o struct {
				OperationID string
				Samples     []struct{ Lang, Source string } `json:"x-codeSamples"`
			}
			_ = json.Unmarshal(raw, &o) // the parameters of a path are a list
			for _, sample := range o.Samples {
				if sample.Lang == language {
					samples++
					text += strings.ReplaceAll(start, "%s", o.OperationID) + indent + strings.ReplaceAll(sample.Source, "\n", "\n"+indent) + "\n" + end
				}
			}
		}
	}
	if samples < 30 {
		t.Errorf("the contract has only %d examples in %s", samples, language)
	}
	return text
}

// readmeBlock returns the first block of a language in the root README; the README of its package
// must contain it, too.
func readmeBlock(t *testing.T, language, ofPackage string) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatalf("README has nothing in %s", language)
	}
	if ofPackage != "" {
		own, err := os.ReadFile(ofPackage)
		if err != nil || !bytes.Contains(own, block[1]) {
			t.Errorf("%s does not show the same %s as README: %v", ofPackage, language, err)
		}
	}
	return string(block[1])
}

// tour runs a program that prints an address, sends a code to it, and expects the program to print
// the code.
func (u *user) tour(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := u.program(t, dir, name, args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	if address, ok := strings.CutPrefix(strings.TrimSpace(line), "Send a message with a code to "); !ok {
		t.Errorf("it begins with %q: %v", line, err)
	} else if err := u.server.mail(address, "482913"); err != nil {
		t.Error(err)
	}
	rest, err := io.ReadAll(said)
	if err := cmd.Wait(); err != nil || string(rest) != "482913\n" {
		t.Errorf("it ends with %q: %v\n%s", rest, err, complaint.String())
	}
	if err != nil {
		t.Error(err)
	}
}

// servedPackage checks that the stored package of a client is what its sources make, and returns its
// URL on the server, for which README has the command.
func (u *user) servedPackage(t *testing.T, language, command string) string {
	t.Helper()
	u.outside(t, "../..", ".ci/clients", "same", language)
	stored, _ := filepath.Glob("../../http/clientpackages/built/" + language + "/*")
	if len(stored) != 1 {
		t.Fatalf("stored are %v", stored)
	}
	path := "/clients/" + language + "/" + filepath.Base(stored[0])
	for _, file := range []string{"README.md", "clients/" + language + "/README.md"} {
		if line := command + " http://127.0.0.1:8080" + path; !strings.Contains(document(t, file), line) {
			t.Errorf("%s lacks %s", file, line)
		}
	}
	return "http://" + u.server.http + path
}

// installPython installs the served wheel into an empty folder, by its URL and as the latest version
// in the list of packages, and runs the README's example there.
func (u *user) installPython(t *testing.T, wheel string) {
	t.Helper()
	python, empty := testtools.ProgramPath(t, "python3"), t.TempDir()
	install := []string{"-m", "pip", "install", "-q", "--no-cache-dir", "--no-index", "--no-deps", "--disable-pip-version-check", "--target"}
	u.outside(t, empty, python, append(install, "src", wheel)...)
	u.outside(t, empty, python, append(install, "found", "--find-links", "http://"+u.server.http+"/clients", "inboxd")...)
	write(t, filepath.Join(empty, "tour.py"), readmeBlock(t, "python", pythonClient+"/README.md"))
	u.tour(t, empty, python, "-u", "tour.py") // with a pipe, its first line would be buffered
}

// installTypescript does the same for npm's package, and also checks the types of the other blocks.
func (u *user) installTypescript(t *testing.T, packed string) {
	t.Helper()
	empty := t.TempDir()
	write(t, filepath.Join(empty, "package.json"), "{}")
	u.outside(t, empty, "npm", "install", "--silent", "--cache", t.TempDir(), "--no-audit", "--no-fund", packed)
	block := readmeBlock(t, "ts", typescriptClient+"/README.md")
	write(t, filepath.Join(empty, "tour.mts"), block)
	write(t, filepath.Join(empty, "rest.mts"), restOfReadme(t))
	write(t, filepath.Join(empty, "samples.mts"), "import { Inboxd } from \"inboxd\";\ndeclare const client: Inboxd, id: number, aid: number, email: string;\n"+
		contractSamples(t, "TypeScript", "async function %s(inbox = client.inbox(email)) {{\n", "  ", "}}\n")+"\nexport {};\n")
	compiler, err := filepath.Abs(filepath.Join(typescriptClient, "node_modules/.bin/tsc"))
	if err != nil {
		t.Fatal(err)
	}
	u.outside(t, empty, compiler, "--strict", "--target", "es2022", "--module", "nodenext", "tour.mts", "rest.mts", "samples.mts")
	u.tour(t, empty, "node", "tour.mjs")
}

// TestGoClientIsImportable gives a copy of the module a public path and serves it like a module
// proxy. A program in an empty folder downloads the client and runs the README's example.
func TestGoClientIsImportable(t *testing.T) {
	if testing.Short() {
		t.Skip("copies the module")
	}
	const path, version = "mail.example.com/inboxd", "v0.1.0"
	copied, proxy, empty := t.TempDir(), t.TempDir(), t.TempDir()
	sources(t, copied)
	rename := exec.CommandContext(t.Context(), filepath.Join(copied, ".ci/rename-module"), path)
	if said, err := rename.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	offer(t, copied, filepath.Join(proxy, path, "@v"), path+"@"+version, version)
	u := launch(t, filepath.Join(t.TempDir(), "data")).signUp(t, "me@example.test")
	u.more = []string{"GOPROXY=file://" + proxy, "GONOSUMDB=" + path, "GOFLAGS=-modcacherw", "GOMODCACHE=" + filepath.Join(t.TempDir(), "cache")}
	write(t, filepath.Join(empty, "main.go"), strings.Replace(readmeBlock(t, "go", ""), `"inboxd/`, `"`+path+`/`, 1))
	u.outside(t, empty, "go", "mod", "init", "tour")
	u.outside(t, empty, "go", "get", path+"/http/client@"+version)
	u.outside(t, empty, "go", "build", "-trimpath", "-o", "tour", ".")
	u.tour(t, empty, "./tour")
}

// sources copies the files of this module that a module zip contains and the compiler reads, and the
// script that renames the module.
func sources(t *testing.T, to string) {
	t.Helper()
	from := os.DirFS("../..")
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "generated" || strings.HasPrefix(d.Name(), ".") && name != "." && name != ".ci"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") && name != "go.mod" && name != "go.sum" && name != ".ci/rename-module":
			return nil
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o700)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// offer writes the files of one version that a module proxy serves ($GOPROXY protocol, Go modules
// reference).
func offer(t *testing.T, module, dir, prefix, version string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := zip.NewWriter(&zipped)
	err := fs.WalkDir(os.DirFS(module), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return err
		}
		f, err := w.Create(prefix + "/" + name)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "list"), version+"\n")
	write(t, filepath.Join(dir, version+".info"), `{"Version":"`+version+`"}`)
	write(t, filepath.Join(dir, version+".mod"), string(mod))
	write(t, filepath.Join(dir, version+".zip"), zipped.String())
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
