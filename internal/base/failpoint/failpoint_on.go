//go:build failpoints

// Package failpoint names places at which a test can kill the process. It does not know the places
// that use it.
package failpoint

import "os"

// MarkPoint blocks forever if the environment selects this place, so that a test can kill the process
// there.
func MarkPoint(name string) {
	if os.Getenv("FAILPOINT") == name {
		_, _ = os.Stderr.WriteString("failpoint " + name + "\n")
		select {}
	}
}
