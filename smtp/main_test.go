package smtp

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever a test starts, a server's Shutdown stops.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
