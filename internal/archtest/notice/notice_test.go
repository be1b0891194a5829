package main

import (
	"os"
	"testing"
)

// TestNotice: whoever changes what is linked writes NOTICE again.
func TestNotice(t *testing.T) {
	if _, err := os.ReadFile("../../../go.mod"); err != nil { // so that a cached result is not that of another one
		t.Fatal(err)
	}
	if err := run("../../..", true); err != nil {
		t.Error(err)
	}
}
