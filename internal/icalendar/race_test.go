//go:build race

package icalendar

// The race detector makes loops over bytes some twenty times slower.
func init() { raced = true }
