package smtp

import (
	"context"
)

// Shutdown stops accepting, sends 421 to idle sessions and lets open transactions finish. If ctx
// ends first, it closes the remaining connections, cancels the context of running calls to Inboxes
// and returns the cause.
func (s *Server) Shutdown(ctx context.Context) error {
	s.beginDraining()
	defer s.finish()
	for s.open() > 0 {
		select {
		case <-s.gone:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *Server) beginDraining() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines.Draining.Swap(true) {
		return
	}
	close(s.stop)
	for l := range s.listeners {
		l.Close()
	}
	for session := range s.live {
		session.Wake()
	}
	for conn := range s.waiting {
		conn.Close()
	}
}

func (s *Server) finish() {
	s.giveUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.live {
		session.kill()
	}
}
