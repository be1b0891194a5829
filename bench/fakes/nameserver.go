package fakes

import (
	"errors"
	"net"
	"strings"

	"github.com/miekg/dns"
)

// NameServer is the DNS of a server under load, so that each message is judged in full and the
// same on every machine: whatever the domain, mail from this machine is its own, and the rest
// is to be rejected. Of other records there are none.
type NameServer struct {
	Addr string // host:port, UDP
	*dns.Server
}

// StartNameServer starts one on a free port.
func StartNameServer() (*NameServer, error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	started := make(chan struct{})
	s := &NameServer{conn.LocalAddr().String(), &dns.Server{
		PacketConn: conn, Handler: dns.HandlerFunc(answerDNS), NotifyStartedFunc: func() { close(started) },
	}}
	ended := make(chan error, 1)
	go func() { ended <- s.ActivateAndServe() }()
	select {
	case <-started:
		return s, nil
	case err := <-ended:
		return nil, errors.Join(err, conn.Close())
	}
}

// Stop ends a server that was started; nil: none was.
func (s *NameServer) Stop() error {
	if s == nil {
		return nil
	}
	return s.Shutdown()
}

func answerDNS(w dns.ResponseWriter, ask *dns.Msg) {
	reply := new(dns.Msg).SetReply(ask)
	if q := ask.Question[0]; q.Qtype == dns.TypeTXT {
		text := "v=spf1 ip4:127.0.0.0/8 ip6:::1 -all"
		if strings.HasPrefix(strings.ToLower(q.Name), "_dmarc.") {
			text = "v=DMARC1; p=reject"
		}
		reply.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: 300}, Txt: []string{text}}}
	}
	_ = w.WriteMsg(reply) // the client may be gone
}
