package fakes

import (
	"fmt"
	"net"
)

// OnLoopback refuses to load anybody else's machine.
func OnLoopback(hostport string) error {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return fmt.Errorf("address %q: %w", hostport, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is not on this machine", hostport)
	}
	return nil
}
