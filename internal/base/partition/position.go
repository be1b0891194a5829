package partition

// Position is a place in the order of a partition's batches: behind the first N that this run gave to
// the log. What rests on something in another partition waits for its position before it is written
// (ADR 0061), for nothing else keeps their order on the day that partitions have logs of their own.
type Position struct {
	Partition ID
	N         uint64
}
