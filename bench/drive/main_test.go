package drive

import (
	"testing"

	"inboxd/bench/benchtest"
)

func TestMain(m *testing.M) { benchtest.Main(m) }
