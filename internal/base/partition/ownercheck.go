//go:build ownercheck

package partition

// With the build tag ownercheck a node that is alone owns every other group, and every name lies in
// one of those: tests then see by Checked that nothing is read but what is owned. Folders of
// other builds can't be read.
const (
	Checked = true
	every   = 2
	apart   = 1 << 6 // the bit of a partition that makes its group odd
)
