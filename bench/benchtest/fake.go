// Package benchtest is the smallest server that the loads can run against, for their tests: it keeps the public
// contract of the calls they make, and can be told to break it in one way at a time. It knows nothing of the loads.
package benchtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/bench/fakes"
)

// Main is what TestMain of a package of loads does. It lets the test binary stand in for the two programs that the loads start: called
// with "serve" it is the fake server, with "constant" the constant answer, with "admin" and "check" who makes and reads backups.
func Main(m *testing.M) {
	programs := map[string]func(context.Context, []string) error{"serve": serveFake, "constant": serveConstant, "admin": backupFake, "check": checkFake}
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

// HalfBackups is a variable of the environment with which backups of the fake have nothing in them.
const HalfBackups = "FAKE_HALF_BACKUPS"

// backupFake is called with --data FOLDER backup COPY.
func backupFake(_ context.Context, args []string) error {
	if os.Getenv(HalfBackups) != "" {
		return os.Mkdir(args[3], 0o700)
	}
	return os.CopyFS(args[3], os.DirFS(args[1]))
}

func checkFake(_ context.Context, args []string) error {
	if files, err := os.ReadDir(args[0]); err != nil || len(files) == 0 {
		return fmt.Errorf("%s is damaged: %v", args[0], err)
	}
	return nil
}

// serveFake runs the fake with the flags of inboxd serve, and some of its own that make it
// wrong in one way each.
func serveFake(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("serve", flag.ExitOnError)
	data := f.String("data", "", "")
	web, mail := f.String("http", "", ""), f.String("smtp", "", "")
	for _, known := range []string{"default-plan", "namespace", "signup", "smtp-max-conns-per-ip", "smarthost", "log-level", "webhook-allow", "plans", "dns"} {
		f.String(known, "", "")
	}
	fake := &Fake{inboxes: map[string]*fakeInbox{}, sessions: map[string]string{}, changed: make(chan struct{})}
	f.BoolVar(&fake.loseMail, "fake-lose-mail", false, "answer 250 and forget every tenth mail")
	f.BoolVar(&fake.wrongCode, "fake-wrong-code", false, "show another code than was sent")
	f.DurationVar(&fake.slow, "fake-slow", 0, "answer so long after an inbox was made")
	f.BoolVar(&fake.mute, "fake-mute", false, "make the second inbox and every one after it, and break the connection instead of an answer")
	f.BoolVar(&fake.alwaysNew, "fake-always-new", false, "answer 200 to who knows the answer")
	f.BoolVar(&fake.neverNew, "fake-never-new", false, "answer 304 with the ETag of something else")
	smarthost := f.Lookup("smarthost")
	f.BoolVar(&fake.refuse, "fake-refuse", false, "answer 451 and 503 with Retry-After to every third mail and poll")
	f.BoolVar(&fake.rude, "fake-rude", false, "answer 452 to every third mail")
	f.BoolVar(&fake.unsigned, "fake-unsigned", false, "webhooks: sign with another secret")
	f.BoolVar(&fake.loseSends, "fake-lose-sends", false, "answer 202 and forget every tenth mail")
	f.StringVar(&fake.events, "fake-events", "", "webhooks: lost (every tenth), twice, or strange (some of nothing that was sent)")
	_ = f.Parse(args)
	fake.smarthost = smarthost.Value.String()
	if err := fake.open(*data); err != nil {
		return err
	}
	return fake.run(ctx, *web, *mail)
}

// Fake is the smallest server that keeps the public contract of the calls the loads make.
type Fake struct {
	loseMail, wrongCode, alwaysNew, neverNew bool
	events                                   string
	refuse, rude, unsigned, loseSends, mute  bool
	slow                                     time.Duration
	smarthost                                string

	mu       sync.Mutex
	order    []string
	inboxes  map[string]*fakeInbox
	sessions map[string]string // of account keys
	hooks    []fakeHook
	journal  *os.File
	changed  chan struct{} // closed and replaced at each mail
	taken    int
	polled   int
	sent     int          // mails taken for others, all delivered at once
	gone     []string     // what was deleted, in order
	mails    []fakeRecord // in order of receipt
}

func (f *Fake) run(ctx context.Context, webAddr, mailAddr string) error {
	web, err1 := net.Listen("tcp", webAddr)
	mail, err2 := net.Listen("tcp", mailAddr)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	go func() { _ = fasthttp.Serve(web, f.serveHTTP) }()
	go f.acceptMail(mail)
	fmt.Fprintln(os.Stderr, "a line of log")
	fmt.Printf("some other line\ninboxd ready http=%s smtp=%s\n", web.Addr(), mail.Addr())
	<-ctx.Done()
	return errors.Join(web.Close(), mail.Close())
}

// Start runs one in this process, for mail only, that knows some inboxes.
func Start(t *testing.T, known ...string) (f *Fake, smtpAddr string) {
	t.Helper()
	f = &Fake{inboxes: map[string]*fakeInbox{}, changed: make(chan struct{})}
	if err := f.open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, address := range known {
		f.apply(fakeRecord{Address: address, Key: "k"})
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go f.acceptMail(ln)
	return f, ln.Addr().String()
}
