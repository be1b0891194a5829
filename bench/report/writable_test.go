package report

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWritableLeavesAllAsItWas(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "fresh")
	if err := os.WriteFile(old, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{old: true, fresh: true, os.DevNull: true, dir: false, filepath.Join(dir, "none", "r"): false} {
		if err := Writable(path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	if b, err := os.ReadFile(old); string(b) != "before" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Errorf("a file is left behind: %v", err)
	}
}
