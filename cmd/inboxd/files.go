package main

import (
	"syscall"

	"inboxd/http"
)

// storeFiles is how many descriptors connections leave to the store, where the limit has
// that many: out of descriptors it could not go on.
const storeFiles = 1024

// fileLimit is how many descriptors the process may have. Go has raised the soft limit to
// the hard one.
func fileLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 10_000
	}
	return int(min(limit.Cur, 1<<20))
}

// hangingConnections is how many silent servers of others may hold a connection of ours: they
// live off what is left to the store, and most of that must stay.
func hangingConnections(limit int) int { return max(1, min(256, limit/16)) }

// connections divides the descriptors: the store first, at least half of what remains to
// HTTP, at most what is asked for to mail.
func (c *serveCommand) connections(limit int) (mail, web int) {
	left := limit - min(storeFiles, limit/2)
	mail = min(c.SMTPMaxConns, left/2)
	web = max(1, min(200_000, left-mail-http.ConnsBeyond))
	if c.HTTPMaxConns > 0 {
		web = min(c.HTTPMaxConns, web)
	}
	return mail, web
}
