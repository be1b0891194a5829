package link

import "testing"

// BenchmarkFind measures one search in a message that confirms an address, and in a newsletter.
func BenchmarkFind(b *testing.B) {
	for _, s := range stories(b, "../testdata/links/mails.txt") {
		if s.name != "mails.txt h1" && s.name != "mails.txt l5" {
			continue
		}
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Find(s.mail)
			}
		})
	}
}
