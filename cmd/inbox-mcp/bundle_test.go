package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// variables returns the environment variables that set flags of the program.
func variables(t *testing.T) (names []string) {
	t.Helper()
	parser, err := kong.New(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range parser.Model.Flags {
		names = append(names, flag.Envs...)
	}
	return names
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}

// TestBundleManifest: the validator of bundles accepts the manifest, and the program accepts what
// the manifest gives it.
func TestBundleManifest(t *testing.T) {
	out, err := script(t, ".", nil, "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js", "validate", "../../manifest.json")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	var manifest struct {
		Server struct {
			Config struct {
				Args []string          `json:"args"`
				Env  map[string]string `json:"env"`
			} `json:"mcp_config"`
		} `json:"server"`
	}
	readJSON(t, "manifest.json", &manifest)
	for name := range manifest.Server.Config.Env {
		if !slices.Contains(variables(t), name) {
			t.Errorf("the program does not read %s", name)
		}
	}
	parser, err := kong.New(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(manifest.Server.Config.Args); err != nil || len(manifest.Server.Config.Args) == 0 {
		t.Errorf("%v: %v", manifest.Server.Config.Args, err)
	}
}

// TestRegistryEntry checks server.json by the rules of the MCP registry's schema of 11 December 2025
// for the members that it has.
func TestRegistryEntry(t *testing.T) {
	var entry struct {
		Schema      string `json:"$schema"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Packages    []struct {
			Type       string `json:"registryType"`
			Identifier string `json:"identifier"`
			SHA256     string `json:"fileSha256"`
			Transport  struct {
				Type string `json:"type"`
			} `json:"transport"`
			Variables []struct {
				Name string `json:"name"`
			} `json:"environmentVariables"`
		} `json:"packages"`
	}
	readJSON(t, "server.json", &entry)
	if entry.Schema != "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json" ||
		!regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(entry.Name) || entry.Description == "" || len(entry.Description) > 100 {
		t.Errorf("%+v", entry)
	}
	if len(entry.Packages) != 1 {
		t.Fatalf("%d packages", len(entry.Packages))
	}
	p := entry.Packages[0]
	if p.Type != "mcpb" || !strings.HasPrefix(p.Identifier, "https://") || p.Transport.Type != "stdio" || !regexp.MustCompile(`^[a-f0-9]{64}$`).MatchString(p.SHA256) {
		t.Errorf("%+v", p)
	}
	for _, variable := range p.Variables {
		if !slices.Contains(variables(t), variable.Name) {
			t.Errorf("the program does not read %s", variable.Name)
		}
	}
}
