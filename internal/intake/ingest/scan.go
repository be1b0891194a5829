package ingest

import (
	"context"
	"log/slog"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

// Scanner judges messages by their content. It returns within a few seconds, nil if it has no
// verdict. Afterwards it does not read raw any more.
type Scanner interface {
	Scan(ctx context.Context, env Envelope, raw []byte) *inbox.SpamVerdict
}

// ReadScanned is Read with the scanner's verdict; a nil scanner gives none. The scan runs
// concurrently with the judge, so that a message waits only for the slower of the two. The judge
// and the parser, which costs little compared to the network, stay on this goroutine, so that most
// messages need no handoff.
func ReadScanned(ctx context.Context, scanner Scanner, env Envelope, raw []byte) IncomingMessage {
	if scanner == nil {
		return readJudged(ctx, env, raw)
	}
	verdict := beginScan(ctx, scanner, env, raw)
	m := readJudged(ctx, env, raw)
	m.Content.Spam = <-verdict
	return m
}

func beginScan(ctx context.Context, scanner Scanner, env Envelope, raw []byte) <-chan *inbox.SpamVerdict {
	verdict := make(chan *inbox.SpamVerdict, 1)
	go func() { verdict <- scanSafely(ctx, scanner, env, raw) }()
	return verdict
}

func readJudged(ctx context.Context, env Envelope, raw []byte) IncomingMessage {
	if env.DetermineVerdict != nil {
		env.Verdict = env.DetermineVerdict(ctx, env, raw)
	}
	return ParseMessage(env, raw)
}

// scanSafely has no verdict if the scanner panics.
func scanSafely(ctx context.Context, scanner Scanner, env Envelope, raw []byte) (verdict *inbox.SpamVerdict) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("spam scanner client panicked", "err", fault.DescribePanic(p))
			verdict = nil
		}
	}()
	return scanner.Scan(ctx, env, raw)
}
