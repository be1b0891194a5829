package smtp

import (
	"testing"

	"go.uber.org/goleak"
)

// Shutdown must stop every goroutine that a test starts.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
