package main

import (
	"fmt"
	"net/url"
	"strings"
)

// check refuses values that the flags' types let through.
func (c *serveCommand) check() error {
	for flag, n := range map[string]int{"--smtp-max-conns": c.SMTPMaxConns, "--smtp-max-conns-per-ip": c.SMTPMaxConnsIP} {
		if n < 1 {
			return fmt.Errorf("%s %d must be at least 1", flag, n)
		}
	}
	if c.HTTPMaxConns < 0 {
		return fmt.Errorf("--http-max-conns %d must be at least 1, or left out", c.HTTPMaxConns)
	}
	if c.Drain < 0 {
		return fmt.Errorf("--drain %s must not be negative", c.Drain)
	}
	return c.checkBaseURL()
}

// checkBaseURL also drops a final slash: paths are put behind the URL.
func (c *serveCommand) checkBaseURL() error {
	if c.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("--base-url %q is not a URL such as https://mail.example.com", c.BaseURL)
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	return nil
}
