package toolserver

import (
	"net/http"
	"time"

	"inboxd/http/client"
)

// doubtful is the least difference of two clocks that counts: the Date of an answer has whole seconds.
const doubtful = 5 * time.Second

// dated is a client whose answers set the clock: how old mail is, is said by the service's. It repeats
// nothing: the model hears what went wrong, and decides.
func (s *Server) dated(api *client.Client) *client.Client {
	c, plain := *api, http.Client{}
	if c.HTTP != nil {
		plain = *c.HTTP
	}
	if plain.Transport == nil {
		plain.Transport = client.Transport()
	}
	plain.Transport = dating{plain.Transport, s}
	c.HTTP, c.Retries = &plain, -1
	return &c
}

type dating struct {
	http.RoundTripper
	server *Server
}

// RoundTrip implements http.RoundTripper.
func (d dating) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		ahead := time.Until(at)
		if ahead.Abs() < doubtful {
			ahead = 0
		}
		d.server.ahead.Store(int64(ahead))
	}
	return resp, err
}

// now is the time as the service has it.
func (s *Server) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
