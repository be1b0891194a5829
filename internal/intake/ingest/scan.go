package ingest

import (
	"context"
	"log/slog"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

// Scanner judges mail by what it looks like. It answers within a few seconds: nil when it
// has no verdict. After that nothing of it reads raw.
type Scanner interface {
	Scan(ctx context.Context, env Envelope, raw []byte) *inbox.Spam
}

// ReadScanned is Read with the scanner's verdict; a nil scanner has none. It is sought while
// the judge is at work, so that a mail waits for the slower of the two and not for both.
// The judge and the reading, which costs little beside the network, stay on this goroutine:
// most mail is spared a handoff.
func ReadScanned(ctx context.Context, scanner Scanner, env Envelope, raw []byte) Mail {
	if scanner == nil {
		return readJudged(ctx, env, raw)
	}
	verdict := beginScan(ctx, scanner, env, raw)
	m := readJudged(ctx, env, raw)
	m.Content.Spam = <-verdict
	return m
}

func beginScan(ctx context.Context, scanner Scanner, env Envelope, raw []byte) <-chan *inbox.Spam {
	verdict := make(chan *inbox.Spam, 1)
	go func() { verdict <- scan(ctx, scanner, env, raw) }()
	return verdict
}

func readJudged(ctx context.Context, env Envelope, raw []byte) Mail {
	if env.Judge != nil {
		env.Verdict = env.Judge(ctx, env, raw)
	}
	return Read(env, raw)
}

// scan has no verdict when the scanner panics.
func scan(ctx context.Context, scanner Scanner, env Envelope, raw []byte) (verdict *inbox.Spam) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("the spam scanner's client panicked", "err", fault.Panicked(p))
			verdict = nil
		}
	}()
	return scanner.Scan(ctx, env, raw)
}
