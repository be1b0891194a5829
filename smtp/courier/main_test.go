package courier

import (
	"testing"

	"go.uber.org/goleak"
)

// Close and the ends of the fakes must stop every goroutine that a test starts.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
