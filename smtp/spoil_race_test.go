//go:build race

package smtp

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"inboxd/internal/base/fault"
)

// keepers keep what they were given, although that is allowed only if they refused it.
type keepers struct {
	fails bool
	raw   []byte
}

func (*keepers) CheckRecipient(context.Context, string) error { return nil }

func (k *keepers) Receive(_ context.Context, _ Envelope, raw []byte) error {
	k.raw = raw
	if k.fails {
		return fault.New(fault.TemporarilyUnavailable, "busy")
	}
	return nil
}

func TestReceivedMailIsSpoiled(t *testing.T) {
	for _, fails := range []bool{false, true} {
		k := &keepers{fails: fails}
		s, addr := serve(t, Options{}, k)
		c := greeted(t, addr)
		c.ask("MAIL FROM:<>", "250 ")
		c.ask("RCPT TO:<m@inbox.test>", "250 ")
		c.ask("DATA", "354 ")
		c.write("Subject: mine\r\n\r\ntext\r\n.\r\n")
		if fails {
			c.expect("451 ")
		} else {
			c.expect("250 ")
		}
		c.ask("QUIT", "221 ")
		allLeft(s)
		if spoiled := len(bytes.Trim(k.raw, "\xdb")) == 0; spoiled == fails {
			t.Errorf("storing fails: %v, kept %q", fails, k.raw)
		}
		if fails && !strings.HasSuffix(string(k.raw), "Subject: mine\r\n\r\ntext\r\n") {
			t.Errorf("kept %q", k.raw)
		}
	}
}
