// Package actors runs the rules as actors: one owner per active inbox and per active
// account, found through a directory that activates it on demand and lets it leave memory
// when it is idle. Owners decide, commit, publish and answer in that order; supervisors
// drive retention and the change journal from what is on disk. The package knows
// protoactor; it refuses to know Pebble, HTTP and SMTP, which it meets only as the
// interfaces in ports.go.
package actors
