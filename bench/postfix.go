package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"inboxd/bench/drive"
)

// The two of Postfix's test programs: smtp-source sends, smtp-sink accepts and forgets.
const (
	smtpSource = "smtp-source"
	smtpSink   = "smtp-sink"
)

// lookPostfix finds one of them; Debian keeps them in a folder that is in root's path only.
func lookPostfix(name string) (string, error) {
	for _, name := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed; it comes with the Debian package postfix (apt-get install postfix)", name)
}

// sourceLoad is one run of smtp-source.
type sourceLoad struct {
	addr     string
	sessions int
	messages int
	size     int    // bytes of the body; headers come on top
	to       string // local part @ domain
	numbered bool   // -N: mail i goes to <i><to>, counting from 1, so messages bounds the recipients
}

// run delivers all messages; smtp-source gives up at the first refusal, so an end without error
// means all were accepted. It shows no latencies. It greets with HELO and does not pipeline.
func (l sourceLoad) run(ctx context.Context, smtpSource string) (drive.Round, error) {
	args := []string{"-d", "-s", strconv.Itoa(l.sessions), "-m", strconv.Itoa(l.messages),
		"-l", strconv.Itoa(l.size), "-f", "bounce@accounts.example.test", "-t", l.to}
	if l.numbered {
		args = append(args, "-N")
	}
	cmd := exec.CommandContext(ctx, smtpSource, append(args, l.addr)...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return drive.Round{}, errors.Join(fmt.Errorf("smtp-source to %s: %w: %s", l.addr, err, out), context.Cause(ctx))
	}
	return drive.Round{Count: int64(l.messages), Elapsed: time.Since(start)}, nil
}

// startSink runs smtp-sink on a free port of loopback until its process is killed.
func startSink(ctx context.Context) (*drive.Process, string, error) {
	binary, err := lookPostfix(smtpSink)
	if err != nil {
		return nil, "", err
	}
	addr, err := drive.FreePort()
	if err != nil {
		return nil, "", err
	}
	args := []string{"-m", "1000", addr, "1024"}
	if os.Geteuid() == 0 { // it refuses to run as root
		args = append([]string{"-u", "nobody"}, args...)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = os.TempDir() // must be open to the user nobody
	p, err := drive.Launch(smtpSink, cmd)
	if err != nil {
		return nil, "", err
	}
	if err := p.AwaitPorts(ctx, addr); err != nil {
		return nil, "", errors.Join(err, p.Kill())
	}
	return p, addr, nil
}
