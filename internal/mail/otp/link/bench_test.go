package link

import "testing"

// BenchmarkFind is one search among the links of a mail that confirms an address, and of a newsletter.
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
