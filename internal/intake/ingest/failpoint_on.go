//go:build failpoints

package ingest

import "bytes"

// failpoint panics on a marked mail, so that tests can see what a parser's bug costs.
func failpoint(raw []byte) {
	if bytes.Contains(raw, []byte("\r\nX-Failpoint: parser-panic\r\n")) {
		panic("failpoint")
	}
}
