//go:build nosync

package disk

// SyncCommits is off: an acknowledged commit can be lost. Never for use, see sync.go.
const SyncCommits = false
