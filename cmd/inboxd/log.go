package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"inboxd/internal/mail/sealed"
)

// logLevel is slog.Level with an error that lists the valid levels.
type logLevel slog.Level

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *logLevel) UnmarshalText(text []byte) error {
	if err := (*slog.Level)(l).UnmarshalText(text); err != nil {
		return fmt.Errorf("invalid level %q (debug, info, warn or error)", text)
	}
	return nil
}

// newLogger returns a logger that writes lines in the format "text" or "json", at level and above,
// and a function that flushes it. Lines are buffered for up to logDelay, because there is one for
// every message. A warning or worse is written at once.
func newLogger(w io.Writer, format string, level slog.Level) (*slog.Logger, func()) {
	out := &lineBuffer{w: bufio.NewWriterSize(w, 64<<10)}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: formatAttr}
	var h slog.Handler = slog.NewTextHandler(out, options)
	if format == "json" {
		h = slog.NewJSONHandler(out, options)
	}
	return slog.New(urgentHandler{h, out}), out.flushLines
}

// formatAttr formats durations as text, such as 1.5s, in both formats; JSON would have nanoseconds.
// It also redacts a private age key that somebody sent by mistake.
func formatAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindDuration:
		a.Value = slog.StringValue(a.Value.Duration().String())
	case slog.KindString:
		if text := a.Value.String(); sealed.IsPrivate(text) {
			a.Value = slog.StringValue(sealed.RedactKeys(text))
		}
	case slog.KindAny:
		if err, is := a.Value.Any().(error); is && sealed.IsPrivate(err.Error()) {
			a.Value = slog.StringValue(sealed.RedactKeys(err.Error()))
		}
	}
	return a
}

const logDelay = 200 * time.Millisecond

// lineBuffer buffers lines. The first line that waits starts a timer that writes all. mu guards all
// fields.
type lineBuffer struct {
	mu           sync.Mutex
	w            *bufio.Writer
	flushPending bool
}

func (b *lineBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.flushPending {
		b.flushPending = true
		time.AfterFunc(logDelay, b.flushLines)
	}
	return b.w.Write(p)
}

func (b *lineBuffer) flushLines() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushPending = false
	_ = b.w.Flush() // there is nowhere to report an error
}

// urgentHandler flushes at once for a warning or worse.
type urgentHandler struct {
	slog.Handler
	out *lineBuffer
}

func (h urgentHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.out.flushLines()
	}
	return err
}

func (h urgentHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return urgentHandler{h.Handler.WithAttrs(attrs), h.out}
}

func (h urgentHandler) WithGroup(name string) slog.Handler {
	return urgentHandler{h.Handler.WithGroup(name), h.out}
}
