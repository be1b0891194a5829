//go:build !ownercheck

package partition

// A node that is alone owns every group.
const (
	// Checked is whether a read past the owner ends the process. It is refused otherwise.
	Checked = false
	every   = 1
	apart   = 0
)
