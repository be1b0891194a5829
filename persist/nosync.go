//go:build nosync

package persist

// syncCommits is off: an acknowledged commit can be lost. Never for use, see sync.go.
const syncCommits = false
