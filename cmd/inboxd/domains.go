package main

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"inboxd/internal/base/resolve"
)

// freshResolver returns a resolver without a cache: a user who has just published a record and
// checks again must not get the previous result. Concurrent lookups still share one response.
func freshResolver(server string) *resolve.Resolver {
	return resolve.New(server, resolve.Options{MaxTTL: time.Nanosecond, MaxNegative: time.Nanosecond})
}

// dnsServer parses --dns. The default port is 53.
func dnsServer(flag string) (string, error) {
	if flag == "" {
		return "", nil
	}
	if _, err := netip.ParseAddr(flag); err == nil || !strings.Contains(flag, ":") {
		return net.JoinHostPort(flag, "53"), nil
	}
	host, port, err := net.SplitHostPort(flag)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
		return "", fmt.Errorf("--dns: invalid server %q (use HOST:PORT, such as 127.0.0.1:53)", flag)
	}
	return flag, nil
}
