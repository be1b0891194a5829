package toolserver

import (
	"net/http"
	"time"

	"inboxd/http/client"
)

// minClockDifference is the least difference of the two clocks that counts: a Date header has whole
// seconds.
const minClockDifference = 5 * time.Second

// clockedClient returns a client whose responses set the clock, because the service's clock defines
// the age of messages. It does not retry: errors are returned to the model, which decides.
func (s *Server) clockedClient(api *client.Client) *client.Client {
	c, plain := *api, http.Client{}
	if c.HTTP != nil {
		plain = *c.HTTP
	}
	if plain.Transport == nil {
		plain.Transport = client.Transport()
	}
	plain.Transport = dateTransport{plain.Transport, s}
	c.HTTP, c.Retries = &plain, -1
	return &c
}

type dateTransport struct {
	http.RoundTripper
	server *Server
}

// RoundTrip implements http.RoundTripper.
func (d dateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		ahead := time.Until(at)
		if ahead.Abs() < minClockDifference {
			ahead = 0
		}
		d.server.clockAhead.Store(int64(ahead))
	}
	return resp, err
}

// now returns the time by the service's clock.
func (s *Server) now() time.Time { return time.Now().Add(time.Duration(s.clockAhead.Load())) }
