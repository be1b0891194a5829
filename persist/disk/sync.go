//go:build !nosync

package disk

// SyncCommits makes every commit wait for the fsync. The nosync build exists to show that the crash
// tests fail without it.
const SyncCommits = true
