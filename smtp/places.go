package smtp

import (
	"net"
)

// registerSession registers a session. It returns false when a connection limit is reached or the
// server is draining.
func (s *Server) registerSession(session *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := session.peer.limitGroup()
	if s.lineServer.IsDraining.Load() || len(s.activeSessions) >= s.opts.MaxConns || s.byGroup[group] >= s.opts.MaxConnsPerIP {
		return false
	}
	s.activeSessions[session] = struct{}{}
	s.byGroup[group]++
	return true
}

// releaseSession unregisters a session, which frees its place in the connection limits.
func (s *Server) releaseSession(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.activeSessions, session)
	group := session.peer.limitGroup()
	if s.byGroup[group]--; s.byGroup[group] == 0 {
		delete(s.byGroup, group)
	}
	select {
	case s.sessionEnded <- struct{}{}:
	default:
	}
}

// replaceSession passes the place of a session to the one that continues it under TLS.
func (s *Server) replaceSession(old, next *session) {
	s.mu.Lock()
	delete(s.activeSessions, old)
	s.activeSessions[next] = struct{}{}
	s.mu.Unlock()
	s.enqueueSession(next)
}

func (s *Server) openCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.activeSessions)
}

// trackListener registers a listener for Shutdown to close. It returns false if Shutdown has begun.
func (s *Server) trackListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[l] = struct{}{}
	return !s.lineServer.IsDraining.Load()
}
