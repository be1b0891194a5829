package resolve

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	ednsSize = 1232     // octets of a UDP answer that no path fragments
	maxUDP   = 4096     // octets of a UDP answer that are accepted anyway
	maxTCP   = 32 << 10 // octets of an answer over TCP; a longer one is a failure
	// maxStray is how many datagrams of one attempt may be unrelated to the question: late answers
	// to an earlier one, or forged ones.
	maxStray = 64
)

// tryTimeouts are the timeouts of the attempts. Each attempt uses the next server, if there is one.
// The first timeouts are short, because a lost datagram is more likely than a slow answer, and a
// repeated query does not disturb a server that is still working. Options.Timeout limits them all.
var tryTimeouts = [...]time.Duration{400 * time.Millisecond, 800 * time.Millisecond, 1200 * time.Millisecond, 2100 * time.Millisecond}

// errBad is an invalid answer: not parseable, too long, or to another question.
var errBad = errors.New("the DNS server sent an invalid response")

// exchangeQuery queries the servers, in order, until one returns NOERROR or NXDOMAIN. Its errors are
// *net.DNSError and temporary.
func (r *Resolver) exchangeQuery(ctx context.Context, q dnsQuestion) (*dns.Msg, error) {
	why, answered := "no DNS server is configured", false
	for try := 0; try < len(tryTimeouts) && len(r.servers) > 0 && ctx.Err() == nil; try++ {
		server := r.servers[try%len(r.servers)]
		msg, err := r.tryServer(ctx, server, q, tryTimeouts[try])
		answered = answered || err == nil || errors.Is(err, errBad)
		switch {
		case err != nil:
			why = err.Error()
		case msg.Rcode == dns.RcodeSuccess, msg.Rcode == dns.RcodeNameError:
			r.health.noteAnswer()
			return msg, nil
		default:
			why = "the DNS server responded with " + dns.RcodeToString[msg.Rcode]
			if try+1 >= len(r.servers) { // every server was asked; a repeat would give the same
				r.health.noteAnswer()
				return nil, temporaryError(q, why)
			}
		}
	}
	if answered {
		r.health.noteAnswer()
		return nil, temporaryError(q, why)
	}
	r.health.unansweredCount.Add(1)
	return nil, timedOut(q, why)
}

// tryServer queries one server once, over UDP, and over TCP if the answer was truncated.
func (r *Resolver) tryServer(ctx context.Context, server string, q dnsQuestion, wait time.Duration) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	query := new(dns.Msg)
	query.SetQuestion(dns.Fqdn(q.name), q.qtype)
	query.SetEdns0(ednsSize, false)
	msg, err := overUDP(ctx, server, query)
	if err == nil && msg.Rcode == dns.RcodeFormatError {
		query.Extra = nil // an old server without EDNS support, RFC 6891 section 6.2.2
		msg, err = overUDP(ctx, server, query)
	}
	if err == nil && msg.Truncated {
		query.Id = dns.Id()
		msg, err = overTCP(ctx, server, query)
	}
	return msg, err
}

// overUDP sends from a fresh port with a fresh id, and reads until the answer comes.
func overUDP(ctx context.Context, server string, query *dns.Msg) (*dns.Msg, error) {
	conn, err := dialServer(ctx, "udp", server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	wire, err := query.Pack()
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(wire); err != nil {
		return nil, err
	}
	buf := make([]byte, maxUDP)
	for range maxStray {
		n, err := conn.Read(buf)
		if err != nil {
			return nil, err
		}
		if msg, ok := parseAnswer(buf[:n], query); ok {
			return msg, nil
		}
	}
	return nil, errBad
}

// overTCP uses a connection of its own, RFC 7766.
func overTCP(ctx context.Context, server string, query *dns.Msg) (*dns.Msg, error) {
	conn, err := dialServer(ctx, "tcp", server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	wire, err := query.Pack()
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(wire))), wire...)); err != nil {
		return nil, err
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	buf := make([]byte, binary.BigEndian.Uint16(size[:]))
	if len(buf) > maxTCP {
		return nil, errBad
	}
	if _, err := io.ReadFull(conn, buf); err != nil {
		return nil, err
	}
	msg, ok := parseAnswer(buf, query)
	if !ok || msg.Truncated {
		return nil, errBad
	}
	return msg, nil
}

func dialServer(ctx context.Context, network, server string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, server)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// parseAnswer parses wire if it is an answer to query, by its id and question. A server that refuses
// may omit the question.
func parseAnswer(wire []byte, query *dns.Msg) (*dns.Msg, bool) {
	if len(wire) < 12 || binary.BigEndian.Uint16(wire) != query.Id {
		return nil, false
	}
	msg := new(dns.Msg)
	if err := msg.Unpack(wire); err != nil {
		if !msg.Truncated || len(msg.Question) == 0 { // a truncated message is repeated over TCP
			return nil, false
		}
	}
	if !msg.Response || msg.Opcode != dns.OpcodeQuery {
		return nil, false
	}
	if len(msg.Question) == 0 {
		return msg, msg.Rcode != dns.RcodeSuccess && msg.Rcode != dns.RcodeNameError
	}
	got, want := msg.Question[0], query.Question[0]
	return msg, len(msg.Question) == 1 && got.Qtype == want.Qtype && got.Qclass == want.Qclass &&
		strings.EqualFold(got.Name, want.Name)
}
