//go:build !ownercheck

package partition_test

import (
	"fmt"
	"testing"

	"inboxd/internal/base/partition"
)

// TestOfGolden pins the hash: stored keys and issued tokens contain these numbers.
func TestOfGolden(t *testing.T) {
	for key, want := range map[string]partition.ID{
		"":                             720, // XXH3 of an empty string is 2d06800538d394c2
		"a@inbox.localhost":            2946,
		"me@example.test":              3637,
		"\x01\x93\x4e\x5f\x10\x00\x00": 1618,
	} {
		if got := partition.Of(key); got != want {
			t.Errorf("%q lives in partition %d, was in %d", key, got, want)
		}
	}
}

// TestSpread checks that similar keys fill every partition about evenly and none beyond the last.
func TestSpread(t *testing.T) {
	const perPartition = 100
	var filled [partition.NumPartitions]int
	for i := range partition.NumPartitions * perPartition {
		filled[partition.Of(fmt.Sprintf("box-%d@inbox.localhost", i))]++ // panics beyond the last
	}
	for p, n := range filled {
		if n < perPartition/2 || n > perPartition*2 {
			t.Errorf("partition %d holds %d of about %d", p, n, perPartition)
		}
	}
}

// TestGroupsAreForEver checks that a group has 64 adjacent partitions, in their order.
func TestGroupsAreForEver(t *testing.T) {
	for p, want := range map[partition.ID]partition.Group{0: 0, 63: 0, 64: 1, 2946: 46, 4031: 62, 4032: 63, 4095: 63} {
		if got := p.Group(); got != want {
			t.Errorf("partition %d lies in group %d, was in %d", p, got, want)
		}
	}
}
