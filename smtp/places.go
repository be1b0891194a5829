package smtp

import (
	"net"
)

// enter registers a session. It returns false when a connection limit is reached or the server
// is draining.
func (s *Server) enter(session *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := session.peer.group()
	if s.lines.Draining.Load() || len(s.live) >= s.opts.MaxConns || s.byGroup[group] >= s.opts.MaxConnsPerIP {
		return false
	}
	s.live[session] = struct{}{}
	s.byGroup[group]++
	return true
}

// release unregisters a session, which frees its place in the connection limits.
func (s *Server) release(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, session)
	group := session.peer.group()
	if s.byGroup[group]--; s.byGroup[group] == 0 {
		delete(s.byGroup, group)
	}
	select {
	case s.gone <- struct{}{}:
	default:
	}
}

// replace passes the place of a session to the one that continues it under TLS.
func (s *Server) replace(old, next *session) {
	s.mu.Lock()
	delete(s.live, old)
	s.live[next] = struct{}{}
	s.mu.Unlock()
	s.hand(next)
}

func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// track registers a listener for Shutdown to close. It returns false if Shutdown has begun.
func (s *Server) track(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[l] = struct{}{}
	return !s.lines.Draining.Load()
}
