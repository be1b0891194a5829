//go:build !failpoints

package ingest

func failpoint([]byte) {}
