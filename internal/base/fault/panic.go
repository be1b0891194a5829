package fault

import (
	"fmt"
	"runtime"
)

// Panicked tells the log of a recovered panic without what it may hold of somebody's data: of the
// runtime's own, which name indexes and sizes, all; of any other value its type alone.
func Panicked(p any) string {
	if err, ours := p.(runtime.Error); ours {
		return err.Error()
	}
	return fmt.Sprintf("a panic of type %T", p)
}
