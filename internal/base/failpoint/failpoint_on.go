//go:build failpoints

// Package failpoint names places at which a test can kill the process.
package failpoint

import "os"

// Here stops for good where the environment says so, so that a test can kill the process there.
func Here(name string) {
	if os.Getenv("FAILPOINT") == name {
		_, _ = os.Stderr.WriteString("failpoint " + name + "\n")
		select {}
	}
}
