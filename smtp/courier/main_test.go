package courier

import (
	"testing"

	"go.uber.org/goleak"
)

// Whatever a test starts, Close and the ends of the fakes stop.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
