//go:build failpoints

package calendars

import "os"

// failpoint stops for good where the environment says so, so that a test can kill the process there.
func failpoint(name string) {
	if os.Getenv("FAILPOINT") == name {
		_, _ = os.Stderr.WriteString("failpoint " + name + "\n")
		select {}
	}
}
