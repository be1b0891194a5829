package partition

// Position is a place in the order of a partition's batches: after the first N that this run wrote
// to the log. A batch that depends on another partition waits for its position before it is written
// (ADR 0061). Nothing else would keep their order if partitions had logs of their own.
type Position struct {
	Partition ID
	N         uint64
}
