package main

import (
	"syscall"

	"inboxd/http"
)

// storeFiles is how many file descriptors connections leave to the store, if the limit allows.
// Without descriptors the store could not continue.
const storeFiles = 1024

// fileLimit returns the maximum number of file descriptors. Go has already raised the soft limit to
// the hard one.
func fileLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 10_000
	}
	return int(min(limit.Cur, 1<<20))
}

// hangingConnections returns how many of our connections may wait for servers that do not respond.
// They use descriptors reserved for the store, most of which must stay free.
func hangingConnections(limit int) int { return max(1, min(256, limit/16)) }

// divideDescriptors divides the descriptors: first the store, then at most half of the rest for
// SMTP, up to the configured number, and the remainder for HTTP.
func (c *serveCommand) divideDescriptors(limit int) (mail, web int) {
	left := limit - min(storeFiles, limit/2)
	mail = min(c.SMTPMaxConns, left/2)
	web = max(1, min(200_000, left-mail-http.ConnsBeyond))
	if c.HTTPMaxConns > 0 {
		web = min(c.HTTPMaxConns, web)
	}
	return mail, web
}
