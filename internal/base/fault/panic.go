package fault

import (
	"fmt"
	"runtime"
)

// DescribePanic describes a recovered panic for the log without user data. A runtime error, which
// contains only indexes and sizes, is logged completely; any other value only by its type.
func DescribePanic(p any) string {
	if err, ours := p.(runtime.Error); ours {
		return err.Error()
	}
	return fmt.Sprintf("a panic of type %T", p)
}
