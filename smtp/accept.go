package smtp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"syscall"
	"time"
)

// Serve accepts connections until Shutdown, then returns nil. It returns the listener's error if
// the listener fails permanently. A listener from package crypto/tls gives implicit TLS.
func (s *Server) Serve(l net.Listener) error { return s.serveListener(l, false) }

// ServeTLS is Serve with TLS from the first byte. Behind a load balancer, TLS begins at the first
// byte after the PROXY header.
func (s *Server) ServeTLS(l net.Listener) error { return s.serveListener(l, true) }

func (s *Server) serveListener(l net.Listener, secure bool) error {
	defer l.Close()
	if !s.trackListener(l) {
		return nil
	}
	s.startOnce.Do(s.startProtocol)
	for wait := time.Duration(0); ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			wait = 0
			s.admitConnection(conn, secure)
		case s.lineServer.IsDraining.Load():
			return nil
		case !isPassing(err):
			return fmt.Errorf("accept SMTP connections: %w", err)
		default:
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.logSometimes(slog.LevelWarn, "accept failed, waiting", slog.Any("err", err), slog.Duration("wait", wait))
			s.pauseAccepting(wait)
		}
	}
}

// transientErrors lists the errors of Accept that are temporary: a lack of descriptors or memory,
// or a peer that closed its connection while it waited to be accepted.
var transientErrors = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR}

func isPassing(err error) bool {
	return slices.ContainsFunc(transientErrors, func(e error) bool { return errors.Is(err, e) })
}

// pauseAccepting waits for d, or until Shutdown begins.
func (s *Server) pauseAccepting(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.stopChan:
	}
}

// admitConnection determines the peer of a connection and admits it.
func (s *Server) admitConnection(conn net.Conn, secure bool) {
	if from := peerOf(conn); !s.trustsProxy(from) {
		s.admitAs(conn, from, secure)
		return
	}
	s.admitProxied(conn, secure)
}

// admitAs starts a session, or rejects the connection with 421.
func (s *Server) admitAs(conn net.Conn, from peer, secure bool) {
	if secure {
		conn = tls.Server(conn, s.opts.TLSConfig)
	}
	session := newSession(s, conn, from)
	if !s.registerSession(session) {
		s.stats.refusedConnections.Add(1)
		turnAway(conn)
		return
	}
	s.stats.connections.Add(1)
	s.enqueueSession(session)
}

// turnAway never blocks the accept loop. A new socket has buffer space for one line. A TLS
// connection is closed without a reply, because that would require a handshake.
func turnAway(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		t.NetConn().Close()
		return
	}
	conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	conn.Write(replyBusy.formatLine())
	conn.Close()
}

// enqueueSession passes a session to go-smtp.
func (s *Server) enqueueSession(session *session) {
	select {
	case s.newSessions <- session:
	case <-s.ctx.Done():
		session.Close()
	}
}
