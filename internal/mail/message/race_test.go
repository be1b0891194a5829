//go:build race

package message

// The race detector makes loops over bytes some twenty times slower.
func init() { maxMail /= 10 }
