// Package partition says which of the 4,096 fixed partitions an entity lives in, and in which
// group of partitions that lies, and knows which groups are a node's. It knows no storage and no
// network.
package partition

import "github.com/zeebo/xxh3"

// Count is the number of partitions, fixed for ever: it is in every stored key.
const Count = 4096

// ID is a partition, 0 to Count-1.
type ID uint16

// Of returns the partition of a route key: the lower-cased address of an inbox, the raw
// id of an account, the lower-cased e-mail address of a sign-up. Never change the hash:
// stored keys and issued tokens depend on it.
func Of(routeKey string) ID { return ID(xxh3.HashString(routeKey)>>52) &^ apart }

// Groups is the number of groups, fixed for ever: it is in the keys of what is due.
const Groups = 64

// Group is 64 neighbouring partitions, 0 to Groups-1: what a node is given and loses, and what
// is copied and dropped, as one (ADR 0047).
type Group uint8

// Group returns the group of the partition: its upper bits, so that groups order as their
// partitions do.
func (p ID) Group() Group { return Group(p >> 6) }
