package toolserver

import "testing"

// BenchmarkNew is what a client waits for before it can ask for the tools.
func BenchmarkNew(b *testing.B) {
	s := newService()
	for b.Loop() {
		s.server()
	}
}
