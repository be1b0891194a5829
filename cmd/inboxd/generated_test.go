package main

import (
	"os"
	"path/filepath"
	"testing"
)

const generatedClients = "../../clients/generated"

// TestGeneratedClients generates clients from the contract with common generators and does the main
// job with each, all against one server.
func TestGeneratedClients(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the clients")
	}
	u := launch(t, filepath.Join(t.TempDir(), "data"), "--default-plan=paid").signUp(t, "me@example.test")
	doesTheJob := func(t *testing.T, said string) {
		t.Helper()
		if said != "482913\n" {
			t.Errorf("the main job ends with %q", said)
		}
	}
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		contract, err := filepath.Abs("../../http/contract/contract.json")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(generatedClients, "go"))); err != nil {
			t.Fatal(err)
		}
		u.outside(t, dir, "go", "tool", "oapi-codegen", "-config", "oapi.yaml", "-o", "client.gen.go", contract)
		doesTheJob(t, u.outside(t, dir, "go", "run", "-trimpath", ".")) // -trimpath: the build cache works in every folder
	})
	t.Run("typescript", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(generatedClients, "typescript")
		npmFolder(t, dir)
		u.outside(t, dir, "npm", "run", "--silent", "build")
		doesTheJob(t, u.outside(t, dir, "node", "dist/paths.js"))
		doesTheJob(t, u.outside(t, dir, "node", "dist/sdk.js"))
	})
}

// TestContractLints checks that a common linter finds nothing in the contract.
func TestContractLints(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a linter of npm")
	}
	dir := filepath.Join(generatedClients, "typescript")
	npmFolder(t, dir)
	(&user{server: &server{}}).outside(t, dir, "npm", "run", "--silent", "lint")
}

// npmFolder checks that npm's packages are installed in a folder.
func npmFolder(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatalf("node_modules is missing in %s: make deps", dir)
	}
}
