package main

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"inboxd/internal/testutil/dnstest"
)

// BenchmarkDeadDestinations queues DEAD_MAILS messages (20,000) to 1,000 domains whose server
// accepts connections and sends nothing; with DEAD_REFUSES it refuses connections. It reports the
// memory of the server, until DEAD_WATCH (20s) after the last message. It also reports how long
// messages to a working domain take, to a known and to a new one, before, during and after that,
// and after a crash. Each median has its ratio to that of a second, idle server in the same
// seconds, because the speed of the machine varies.
func BenchmarkDeadDestinations(b *testing.B) {
	mailCount := 20_000
	if n, err := strconv.Atoi(os.Getenv("DEAD_MAILS")); err == nil {
		mailCount = n
	}
	far := receive(b, "127.0.0.1", "0", nil)
	deaf, err := net.Listen("tcp", "127.0.0.9:"+far.port) // its backlog accepts all connections
	if err != nil {
		b.Fatal(err)
	}
	defer deaf.Close()
	if os.Getenv("DEAD_REFUSES") != "" {
		deaf.Close()
	}
	watch, err := time.ParseDuration(cmp.Or(os.Getenv("DEAD_WATCH"), "20s"))
	if err != nil {
		b.Fatal(err)
	}
	names := dnstest.StartServer(b)
	names.SetHandler(livingAndDead)
	dir := b.TempDir()
	config := filepath.Join(dir, "inboxd.toml")
	if err := os.WriteFile(config, []byte("[plans.paid]\nsends_per_day = 1000000\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	start := func(data string) *server {
		return launch(b, filepath.Join(dir, data), "--config", config, "--dns", names.Addr, "--mx-port", far.port,
			"--delivery-allow", "127.0.0.0/8")
	}
	s := start("data")
	u, idle := s.signUp(b, "me@example.test"), start("idle").signUp(b, "me@example.test")
	idle.inbox(b, "living")
	living := u.inbox(b, "living")
	var boxes []string
	for i := range mailCount/5000 + 1 {
		boxes = append(boxes, u.inbox(b, fmt.Sprint("agent", i)))
	}
	for b.Loop() {
		reportLiving(b, "calm", u, idle, living, far)
		before := s.resident(b)
		peak := watchResident(b, s)
		from := time.Now()
		var senders sync.WaitGroup
		for w := range 16 {
			senders.Go(func() {
				for i := w; i < mailCount; i += 16 {
					a, err := s.call("POST", "/api/v1/inboxes/"+boxes[i/5000]+"/send", map[string]string{"X-API-Key": u.key},
						map[string]any{"to": fmt.Sprintf("bob@dead%d.test", i%1000), "subject": "x", "body": "x"})
					if err != nil || a.status != 202 {
						b.Errorf("%v %v", a, err)
						return
					}
				}
			})
		}
		senders.Wait()
		b.ReportMetric(float64(mailCount)/time.Since(from).Seconds(), "accepted/s")
		stranger := u.deliveryTime(b, living, "bob@live2.test", 1, far)
		reportLiving(b, "busy", u, idle, living, far)
		time.Sleep(watch) // the memory of attempts shows later
		reportLiving(b, "later", u, idle, living, far)
		b.ReportMetric(peak()-before, "MB-more")
		b.ReportMetric(stranger.Seconds()*1000, "ms-stranger")
		s.kill()
		from = time.Now()
		s = start("data")
		u.server = s
		b.ReportMetric(time.Since(from).Seconds(), "s-start")
		reportLiving(b, "restarted", u, idle, living, far)
	}
}

// reportLiving sends 200 messages to a working domain from the server and, alternately, from an
// idle one. It reports the median and the maximum of the former.
func reportLiving(b *testing.B, phase string, u, idle *user, from string, far *receiver) {
	var took, alongside []time.Duration
	for range 200 {
		took = append(took, u.deliveryTime(b, from, "bob@live.test", 1, far))
		alongside = append(alongside, idle.deliveryTime(b, from, "bob@live.test", 1, far))
	}
	slices.Sort(took)
	slices.Sort(alongside)
	b.ReportMetric(took[100].Seconds()*1000, "ms-"+phase)
	b.ReportMetric(took[100].Seconds()/alongside[100].Seconds(), "x-"+phase)
	b.ReportMetric(took[199].Seconds()*1000, "ms-most-"+phase)
}

// livingAndDead resolves every name: liveN.test has its server at 127.0.0.1, all others at
// 127.0.0.9.
func livingAndDead(w dns.ResponseWriter, ask *dns.Msg) {
	reply := new(dns.Msg)
	reply.SetReply(ask)
	q := ask.Question[0]
	ip := "127.0.0.9"
	if strings.Contains(q.Name, "live") {
		ip = "127.0.0.1"
	}
	record := ""
	switch q.Qtype {
	case dns.TypeMX:
		record = q.Name + " 60 IN MX 10 mx." + q.Name
	case dns.TypeA:
		record = q.Name + " 60 IN A " + ip
	}
	if rr, err := dns.NewRR(record); err == nil && rr != nil {
		reply.Answer = append(reply.Answer, rr)
	}
	_ = w.WriteMsg(reply) // fails if the resolver has gone
}

// deliveryTime returns the median time from the send call to the arrival at the far server.
func (u *user) deliveryTime(t testing.TB, from, to string, n int, far *receiver) time.Duration {
	t.Helper()
	var took []time.Duration
	for range n {
		begin := time.Now()
		u.send(t, from, map[string]any{"to": to, "body": "x"})
		<-far.arrived
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

var rss = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident returns the VmRSS of the server, in MB.
func (s *server) resident(t testing.TB) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := rss.FindSubmatch(status)
	if m == nil {
		t.Fatalf("no VmRSS in %s", status)
	}
	kb, _ := strconv.ParseFloat(string(m[1]), 64)
	return kb / 1024
}

// watchResident samples the memory of the server until the returned function is called, which
// returns the maximum.
func watchResident(t testing.TB, s *server) (peak func() float64) {
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		for {
			most = max(most, s.resident(t))
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() float64 { close(stop); return <-done }
}
