package smtp

import (
	"context"
)

// Shutdown stops accepting, sends 421 to idle sessions and lets open transactions finish. If ctx
// ends first, it closes the remaining connections, cancels the context of running calls to
// InboxReceiver and returns the cause.
func (s *Server) Shutdown(ctx context.Context) error {
	s.beginDraining()
	defer s.finishSessions()
	for s.openCount() > 0 {
		select {
		case <-s.sessionEnded:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *Server) beginDraining() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lineServer.IsDraining.Swap(true) {
		return
	}
	close(s.stopChan)
	for l := range s.listeners {
		l.Close()
	}
	for session := range s.activeSessions {
		session.Wake()
	}
	for conn := range s.awaitingProxy {
		conn.Close()
	}
}

func (s *Server) finishSessions() {
	s.giveUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.activeSessions {
		session.killConnection()
	}
}
