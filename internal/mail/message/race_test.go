//go:build race

package message

// The race detector makes loops over bytes about twenty times slower.
func init() { maxMail /= 10 }
