//go:build ownercheck

package partition

// With the build tag ownercheck, a single node owns every other group, and every name is in one of
// those. Tests then detect, by Checked, any read of a group that is not owned. Folders written by
// other builds cannot be read.
const (
	Checked = true
	every   = 2
	apart   = 1 << 6 // the bit of a partition that makes its group odd
)
