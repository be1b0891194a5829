//go:build failpoints

package ingest

import "bytes"

// failpoint panics on a marked message, so that tests can check the effect of a parser's bug.
func failpoint(raw []byte) {
	if bytes.Contains(raw, []byte("\r\nX-Failpoint: parser-panic\r\n")) {
		panic("failpoint")
	}
}
