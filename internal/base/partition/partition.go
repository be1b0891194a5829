// Package partition maps an entity to one of the 4,096 fixed partitions, and a partition to its
// group. It also records which groups a node owns. It does not know the storage and the network.
package partition

import "github.com/zeebo/xxh3"

// NumPartitions is the number of partitions. It can never change: it is in every stored key.
const NumPartitions = 4096

// ID is a partition, 0 to NumPartitions-1.
type ID uint16

// Of returns the partition of a route key: the lower-cased address of an inbox, the raw id of an
// account, the lower-cased e-mail address of a sign-up. Never change the hash: stored keys and
// issued tokens depend on it.
func Of(routeKey string) ID { return ID(xxh3.HashString(routeKey)>>52) &^ apart }

// NumGroups is the number of groups. It can never change: it is in the keys of the due index.
const NumGroups = 64

// Group is 64 adjacent partitions, 0 to NumGroups-1: the unit that a node acquires and releases, and
// that is copied and dropped (ADR 0047).
type Group uint8

// Group returns the group of the partition: its upper bits, so that groups are ordered as their
// partitions are.
func (p ID) Group() Group { return Group(p >> 6) }
