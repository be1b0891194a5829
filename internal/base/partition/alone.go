//go:build !ownercheck

package partition

// A single node owns every group.
const (
	// Checked means that a read of a group that is not owned ends the process. Otherwise it is
	// refused.
	Checked = false
	every   = 1
	apart   = 0
)
