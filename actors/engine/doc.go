// Package engine runs entities as actors: one owner per entity that is in memory, found
// through a directory that activates it on demand and lets it leave memory when it is idle.
// An owner decides, commits, publishes and answers in that order. The package is the one
// door to protoactor (ADR 0035); it refuses to know what an entity is, where it is stored
// and what is said to it.
package engine
