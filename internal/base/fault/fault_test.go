package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"inboxd/internal/base/fault"
)

// TestKindOf finds the kind of wrapped errors. An unclassified error is our bug.
func TestKindOf(t *testing.T) {
	full := fault.New(fault.InboxFull, "This inbox is full")
	for _, c := range []struct {
		err  error
		want fault.ErrorKind
	}{
		{full, fault.InboxFull},
		{fmt.Errorf("deliver: %w", full), fault.InboxFull},
		{errors.Join(io.EOF, full), fault.InboxFull},
		{fault.Wrap(fault.TemporarilyUnavailable, "Try again soon", full), fault.TemporarilyUnavailable}, // the outer one counts
		{io.EOF, fault.Internal},
		{&fault.Error{}, fault.Internal},
		{nil, fault.Internal},
	} {
		if got := fault.KindOf(c.err); got != c.want {
			t.Errorf("%v is %v, want %v", c.err, got, c.want)
		}
		if fault.Is(c.err, c.want) != (c.err != nil) {
			t.Errorf("%v: Is(%v) is %v", c.err, c.want, c.err == nil)
		}
		if fault.Is(c.err, fault.TooMany) {
			t.Errorf("%v is taken for another kind", c.err)
		}
	}
}

// TestError checks that the log contains kind, sentence and cause, and that causes are found.
func TestError(t *testing.T) {
	plain := fault.New(fault.NotFound, "Message 7 not found")
	if got := plain.Error(); got != "not found: Message 7 not found" {
		t.Error(got)
	}
	if got := fault.InvalidField("prefix", "is too long (%d characters)", 65).Error(); got != "invalid: 'prefix' is too long (65 characters)" {
		t.Error(got)
	}
	wrapped := fault.Wrap(fault.StorageFull, "The disk is full", io.ErrShortWrite)
	if got := wrapped.Error(); got != "storage full: The disk is full: short write" {
		t.Error(got)
	}
	if !errors.Is(wrapped, io.ErrShortWrite) || errors.Unwrap(plain) != nil {
		t.Error("the cause is lost or made up")
	}
}

// TestKindNames checks that every kind has a unique name.
func TestKindNames(t *testing.T) {
	seen := map[string]fault.ErrorKind{}
	for k := fault.Internal; k <= fault.UnsupportedContent; k++ {
		name := k.String()
		if other, twice := seen[name]; twice || name == "" || name == "unknown" {
			t.Errorf("kind %d is called %q like %d", k, name, other)
		}
		seen[name] = k
	}
	if got := (fault.UnsupportedContent + 1).String(); got != "unknown" {
		t.Errorf("a kind beyond the last is called %q", got)
	}
}
