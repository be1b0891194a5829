//go:build !failpoints

// Package failpoint names places at which a test can kill the process. Without the build tag
// failpoints it does nothing. It does not know the places that use it.
package failpoint

// MarkPoint marks the place with that name.
func MarkPoint(string) {}
