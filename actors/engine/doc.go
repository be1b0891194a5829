// Package engine runs entities as actors: one owner per entity in memory. A directory finds the
// owner, activates it on demand and evicts it when it is idle. An owner decides, commits, publishes
// and replies, in that order. The package is the only one that uses protoactor (ADR 0035). It does
// not know what an entity is, where it is stored or what its commands mean.
package engine
