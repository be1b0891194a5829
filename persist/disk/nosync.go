//go:build nosync

package disk

// SyncCommits is off: an acknowledged commit can be lost. Never use this build; see sync.go.
const SyncCommits = false
