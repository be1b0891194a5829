// Package partition says which of the 4,096 fixed partitions an entity lives in. It knows no
// storage and no network.
package partition

import "github.com/zeebo/xxh3"

// Count is the number of partitions, fixed for ever: it is in every stored key.
const Count = 4096

// ID is a partition, 0 to Count-1.
type ID uint16

// Of returns the partition of a route key: the lower-cased address of an inbox, the raw
// id of an account, the lower-cased e-mail address of a sign-up. Never change the hash:
// stored keys and issued tokens depend on it.
func Of(routeKey string) ID { return ID(xxh3.HashString(routeKey) >> 52) }
