package fault_test

import (
	"errors"
	"testing"

	"inboxd/internal/base/fault"
)

func TestPanicked(t *testing.T) {
	reported := func(fn func()) (text string) {
		defer func() { text = fault.DescribePanic(recover()) }()
		fn()
		return ""
	}
	at := 3
	for want, fn := range map[string]func(){
		"runtime error: index out of range [3] with length 2": func() { _ = []byte("ab")[at] },
		"a panic of type string":                              func() { panic("secret") },
		"a panic of type *errors.errorString":                 func() { panic(errors.New("secret")) },
	} {
		if got := reported(fn); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
