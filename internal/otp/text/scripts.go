package text

// foreignWord reads a word of another script than Latin.
func (p *Page) foreignWord(b []byte, i int) int {
	if unspaced(b, i) {
		return p.unspacedRun(b, i)
	}
	f := lookup(b, i, Words)
	if f.class == ClassNone {
		if k := articleEnd(b, i); k > i {
			f = lookup(b, k, Words)
		}
	}
	end := wordEnd(b, i)
	if f.class != ClassNone {
		end = f.end
		if f.ending {
			end = wordEnd(b, end)
		}
	}
	p.put(i, end, KindWord, f.class, 1)
	return end
}

// articleEnd skips what Arabic and Hebrew write in front of a noun: article, "and",
// "with", "for".
func articleEnd(b []byte, i int) int {
	pair := func(k int) uint16 {
		if k+1 >= len(b) {
			return 0
		}
		return uint16(b[k])<<8 | uint16(b[k+1])
	}
	const alef, lam, waw, beh = 0xD8A7, 0xD984, 0xD988, 0xD8A8
	k := i
	if c := pair(k); c == waw || c == beh || c == lam {
		k += 2
	}
	if pair(k) == alef && pair(k+2) == lam {
		return k + 4
	}
	if c := pair(i); c >= 0xD790 && c <= 0xD7AA { // one Hebrew letter
		return i + 2
	}
	if k >= len(b) {
		return i
	}
	return k
}

// unspacedRun cuts a run of a script without blanks into words of the vocabulary and
// what lies between them.
func (p *Page) unspacedRun(b []byte, i int) int {
	plain := i
	flush := func(end int) {
		if end > plain {
			p.put(plain, end, KindWord, ClassNone, min(1+(end-plain)/6, 20))
		}
	}
	for i < len(b) && unspaced(b, i) {
		f := lookup(b, i, Anywhere)
		if f.class == ClassNone {
			i += 3 // every letter of these scripts takes three bytes
			continue
		}
		flush(i)
		p.put(i, f.end, KindWord, f.class, 1)
		i, plain = f.end, f.end
	}
	i = min(i, len(b))
	flush(i)
	return i
}

// unspaced tells the scripts that do not part words by blanks, and Korean, which glues
// particles and compounds: Thai, Lao, Burmese, Khmer, kana, Chinese, hangul.
func unspaced(b []byte, i int) bool {
	if i+1 >= len(b) {
		return false
	}
	switch c := b[i]; {
	case c < 0xE0 || c > 0xED:
		return false
	case c == 0xE0:
		return b[i+1] >= 0xB8
	case c == 0xE1:
		return b[i+1] >= 0x80 && b[i+1] <= 0x82 || b[i+1] == 0x9E || b[i+1] == 0x9F
	case c == 0xE2:
		return false
	}
	return true
}
