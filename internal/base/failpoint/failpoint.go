//go:build !failpoints

// Package failpoint names places at which a test can kill the process. It does nothing without the build
// tag failpoints, and knows nothing of who stops there.
package failpoint

// Here is the place of that name.
func Here(string) {}
