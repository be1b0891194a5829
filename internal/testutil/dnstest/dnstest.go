// Package dnstest is a DNS server for tests, on loopback. It serves the given records, and can be
// made to lie or to be silent. It is not part of the program, and does not know what is tested.
package dnstest

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Server answers over UDP and TCP at Addr.
type Server struct {
	Addr string // host:port

	mu             sync.Mutex // guards what follows
	records        []dns.RR
	askedQuestions []string // "name TYPE" of each question, the name in lower case
	handler        dns.HandlerFunc
}

// StartServer starts a server with these records, in zone file form, until the test ends. Names
// without a record and without a name below them do not exist.
func StartServer(t testing.TB, records ...string) *Server {
	t.Helper()
	s := &Server{}
	s.SetRecords(t, records...)
	packets, listener := listenBoth(t)
	s.Addr = packets.LocalAddr().String()
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: s}, {Listener: listener, Handler: s}} {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go server.ActivateAndServe()
		<-started
		t.Cleanup(func() { server.Shutdown() })
	}
	return s
}

// listenBoth finds a port that is free for UDP and for TCP.
func listenBoth(t testing.TB) (net.PacketConn, net.Listener) {
	t.Helper()
	for try := 0; ; try++ {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		packets, err := net.ListenPacket("udp", listener.Addr().String())
		if err == nil {
			return packets, listener
		}
		listener.Close()
		if try == 50 {
			t.Fatal(err)
		}
	}
}

// SetRecords replaces the records.
func (s *Server) SetRecords(t testing.TB, records ...string) {
	t.Helper()
	var all []dns.RR
	for _, line := range records {
		rr, err := dns.NewRR(line)
		if err != nil || rr == nil {
			t.Fatalf("record %q: %v", line, err)
		}
		all = append(all, rr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = all
}

// SetHandler makes h answer instead of the records; nil restores them.
func (s *Server) SetHandler(h dns.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// StopAnswering answers nothing from now on, until SetHandler(nil).
func (s *Server) StopAnswering() { s.SetHandler(func(dns.ResponseWriter, *dns.Msg) {}) }

// TakeQuestions returns the questions since the last call.
func (s *Server) TakeQuestions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.askedQuestions
	s.askedQuestions = nil
	return asked
}

// ServeDNS implements dns.Handler.
func (s *Server) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	q := query.Question[0]
	s.mu.Lock()
	s.askedQuestions = append(s.askedQuestions, strings.ToLower(strings.TrimSuffix(q.Name, "."))+" "+dns.TypeToString[q.Qtype])
	h, records := s.handler, s.records
	s.mu.Unlock()
	if h != nil {
		h(w, query)
		return
	}
	reply := answerFrom(query, records)
	if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
		size := dns.MinMsgSize
		if opt := query.IsEdns0(); opt != nil {
			size = int(opt.UDPSize())
		}
		reply.Truncate(size)
	}
	w.WriteMsg(reply) // may fail: the resolver may have closed the connection
}

// answerFrom returns the response from the records. It follows at most 20 CNAMEs, and answers NXDOMAIN
// for a name that does not exist.
func answerFrom(query *dns.Msg, records []dns.RR) *dns.Msg {
	reply := new(dns.Msg)
	reply.SetReply(query)
	q := query.Question[0]
	name := strings.ToLower(q.Name)
	exists := name == "."
	for hop := true; hop; {
		hop = false
		for _, rr := range records {
			owner := strings.ToLower(rr.Header().Name)
			exists = exists || dns.IsSubDomain(name, owner)
			if owner != name {
				continue
			}
			if cname, ok := rr.(*dns.CNAME); ok && len(reply.Answer) < 20 {
				reply.Answer = append(reply.Answer, rr)
				name, hop, exists = strings.ToLower(cname.Target), true, false
				break
			} else if rr.Header().Rrtype == q.Qtype {
				reply.Answer = append(reply.Answer, rr)
			}
		}
	}
	if !exists {
		reply.Rcode = dns.RcodeNameError
	}
	reply.Ns = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: 60}, Ns: "ns.", Mbox: "m.", Minttl: 60}}
	return reply
}
