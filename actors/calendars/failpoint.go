//go:build !failpoints

package calendars

func failpoint(string) {}
