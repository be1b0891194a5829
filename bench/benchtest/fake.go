// Package benchtest is the smallest server that the loads can run against, for their tests: it
// keeps the public contract of the calls they make, and breaks it in one way at a time where a flag
// asks for it. It knows nothing of the loads.
package benchtest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"inboxd/bench/fakes"
)

// Main is what TestMain of a package of loads does. It lets the test binary stand in for the two
// programs that the loads start: called with "serve" it is the fake server, with "constant" the
// constant response.
func Main(m *testing.M) {
	programs := map[string]func(context.Context, []string) error{"serve": serveFake, "constant": serveConstant}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // a child under -race sleeps a second at its end
		_ = flag.Set("test.parallel", "6")           // an open loop mostly waits, whatever the cores
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := programs[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveConstant(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("constant", flag.ExitOnError)
	addr, status, size := f.String("http", "", ""), f.Int("status", 0, ""), f.Int("size", 0, "")
	_ = f.Parse(args)
	return fakes.Constant(ctx, *addr, *status, *size, os.Stdout)
}

// serveFake runs the fake with the flags of inboxd serve, and some of its own that make it
// wrong in one way each.
func serveFake(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("serve", flag.ExitOnError)
	data := f.String("data", "", "")
	web, mail := f.String("http", "", ""), f.String("smtp", "", "")
	for _, known := range []string{"default-plan", "namespace", "signup", "smtp-max-conns-per-ip", "log-level", "webhook-allow", "plans", "dns"} {
		f.String(known, "", "")
	}
	fake := newFake()
	f.BoolVar(&fake.loseMail, "fake-lose-mail", false, "reply 250 and forget every tenth message")
	f.BoolVar(&fake.wrongCode, "fake-wrong-code", false, "show another code than was sent")
	f.DurationVar(&fake.slow, "fake-slow", 0, "wait so long after an inbox was made")
	f.BoolVar(&fake.mute, "fake-mute", false, "make the second inbox and every one after it, and break the connection instead of a response")
	f.BoolVar(&fake.alwaysNew, "fake-always-new", false, "respond with 200 where 304 is right")
	f.BoolVar(&fake.neverNew, "fake-never-new", false, "respond with 304 and the ETag of something else")
	f.BoolVar(&fake.refuse, "fake-refuse", false, "respond with 451 and 503 with Retry-After to every third message and poll")
	f.BoolVar(&fake.rude, "fake-rude", false, "reply 452 to every third message")
	f.BoolVar(&fake.unsigned, "fake-unsigned", false, "webhooks: sign with another secret")
	f.BoolVar(&fake.loseSends, "fake-lose-sends", false, "respond with 202 and forget every tenth message")
	f.StringVar(&fake.events, "fake-events", "", "webhooks: lost (every tenth), twice, or strange (some of nothing that was sent)")
	f.StringVar(&fake.smarthost, "smarthost", "", "")
	_ = f.Parse(args)
	if err := fake.open(*data); err != nil {
		return err
	}
	return fake.run(ctx, *web, *mail)
}

// Fake is the smallest server that keeps the public contract of the calls the loads make.
type Fake struct {
	loseMail, wrongCode, alwaysNew, neverNew bool
	refuse, rude, unsigned, loseSends, mute  bool
	events, smarthost                        string
	slow                                     time.Duration

	mu       sync.Mutex
	order    []string
	inboxes  map[string]*inbox
	sessions map[string]string // of account keys
	hooks    []webhook
	journal  *os.File
	changed  chan struct{} // closed and replaced at each message
	taken    int
	polled   int
	sent     int      // messages taken for others, all delivered at once
	gone     []string // what was deleted, in order
	messages []record // in order of receipt
}

type inbox struct {
	key, own string   // of the account, and its own
	codes    []string // the id of a message is its place, from 1
	sealed   bool
}

// record is a line of the journal: an inbox, or a message where it has a code.
type record struct {
	Address, Key, Code string
	Gone, Sealed       bool
}

func newFake() *Fake {
	return &Fake{inboxes: map[string]*inbox{}, sessions: map[string]string{}, changed: make(chan struct{})}
}

func (f *Fake) run(ctx context.Context, webAddr, mailAddr string) error {
	web, err1 := net.Listen("tcp", webAddr)
	mail, err2 := net.Listen("tcp", mailAddr)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	go func() { _ = http.Serve(web, f.handler()) }()
	go fakes.ServeMail(mail, f.knows, f.take)
	fmt.Fprintln(os.Stderr, "a line of log")
	fmt.Printf("some other line\ninboxd ready http=%s smtp=%s\n", web.Addr(), mail.Addr())
	<-ctx.Done()
	return errors.Join(web.Close(), mail.Close())
}

// Start runs one in this process, for mail only, that knows some inboxes.
func Start(t *testing.T, known ...string) (f *Fake, smtpAddr string) {
	t.Helper()
	f = newFake()
	if err := f.open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, address := range known {
		f.apply(record{Address: address, Key: "k"})
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go fakes.ServeMail(ln, f.knows, f.take)
	return f, ln.Addr().String()
}

func (f *Fake) open(dir string) (err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f.journal, err = os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for d := json.NewDecoder(f.journal); ; {
		var r record
		if err := d.Decode(&r); err != nil {
			return nil
		}
		f.apply(r)
	}
}

func (f *Fake) apply(r record) {
	switch {
	case r.Gone:
		delete(f.inboxes, r.Address)
		f.order = slices.DeleteFunc(f.order, func(a string) bool { return a == r.Address })
	case r.Code == "":
		f.inboxes[r.Address] = &inbox{key: r.Key, sealed: r.Sealed}
		f.order = append(f.order, r.Address)
	default:
		f.inboxes[r.Address].codes = append(f.inboxes[r.Address].codes, r.Code)
		f.messages = append(f.messages, r)
	}
}

func (f *Fake) commit(r record) {
	line, _ := json.Marshal(r)
	_, _ = f.journal.Write(append(line, '\n'))
	f.apply(r)
	close(f.changed)
	f.changed = make(chan struct{})
}

// shown is the code that the API shows; nil for none.
func (f *Fake) shown(code string) any {
	switch {
	case f.wrongCode:
		return "999999"
	case code == "none":
		return nil
	}
	return code
}

func withoutTag(address string) string { return strings.Replace(address, "+tag@", "@", 1) }

func (f *Fake) knows(to string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inboxes[withoutTag(to)] != nil
}

// Codes are those of all messages that it took, with the inbox of each.
func (f *Fake) Codes() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	codes := make(map[string]string)
	for _, m := range f.messages {
		codes[m.Code] = m.Address
	}
	return codes
}

var codeInText = regexp.MustCompile(`code is (\d{6})`)

// take stores a message and returns the reply.
func (f *Fake) take(to string, message []byte) (reply string) {
	r := record{Address: withoutTag(to), Code: "none"}
	if m := codeInText.FindSubmatch(message); m != nil {
		r.Code = string(m[1])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken++
	switch {
	case f.refuse && f.taken%3 == 0:
		return "451 4.3.2 too much to do"
	case f.rude && f.taken%3 == 0:
		return "452 4.3.1 no room"
	}
	if !f.loseMail || f.taken%10 != 0 {
		f.commit(r)
		f.callWebhooks(r)
	}
	return "250 2.0.0 kept"
}
