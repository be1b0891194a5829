package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// script folds a letter or digit of a script that has case, marks or digits of its own.
func (f *Folded) script(r rune) {
	switch {
	case r >= 0x0370 && r < 0x0530:
		f.foreign(foldGreekCyrillic(r))
	case r >= 0x0590 && r < 0x0700:
		f.semitic(r)
	case r >= 0x1D400 && r < 0x1D6A4: // bold, italic and other letters of mathematics
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		f.ascii(letters[(r-0x1D400)%52])
	default:
		if d, ok := digit(r); ok {
			f.ascii(d)
		} else if strings.ContainsRune(fullStops, r) {
			f.ascii('.')
			f.blanks++
		} else if unicode.IsLetter(r) || unicode.IsMark(r) {
			f.foreign(unicode.ToLower(r))
		} else {
			f.ascii('*')
		}
	}
}

// fullStops are the danda and its kin, which end a sentence.
const fullStops = "\u0964\u0965\u104B\u1362\u0589"

func (f *Folded) foreign(r rune) {
	f.gap()
	n := len(f.Lower)
	f.Lower = utf8.AppendRune(f.Lower, r)
	f.Plain = append(f.Plain, f.Lower[n:]...)
}

// semitic folds Hebrew and Arabic: no vowel points, one form for the letters that
// Arabic and Persian keyboards write differently.
func (f *Folded) semitic(r rune) {
	switch {
	case Between(r, 0x0591, 0x05C7) && r != 0x05BE, Between(r, 0x064B, 0x065F), r == 0x0670, r == 0x0640, Between(r, 0x0610, 0x061A):
	case r == 0x0622 || r == 0x0623 || r == 0x0625:
		f.foreign(0x0627)
	case r == 0x0649 || r == 0x06CC:
		f.foreign(0x064A)
	case r == 0x0629:
		f.foreign(0x0647)
	case r == 0x06A9:
		f.foreign(0x0643)
	case r == 0x05BE:
		f.ascii('-')
	case r == 0x060C:
		f.ascii(',')
		f.blanks++
	case r == 0x061B:
		f.ascii(';')
	case r == 0x061F:
		f.ascii('?')
	case r == 0x066A:
		f.ascii('%')
	case r == 0x066B:
		f.ascii('.')
	case r == 0x066C:
		f.ascii(',')
	default:
		if d, ok := digit(r); ok {
			f.ascii(d)
		} else if unicode.IsLetter(r) {
			f.foreign(r)
		} else {
			f.ascii('*')
		}
	}
}

func foldGreekCyrillic(r rune) rune {
	switch {
	case r >= 0x0391 && r <= 0x03A9, r >= 0x0410 && r <= 0x042F:
		r += 0x20
	case r >= 0x0430 && r <= 0x044F:
	default:
		r = unicode.ToLower(r)
	}
	switch r {
	case 'ё':
		return 'е'
	case 'й':
		return 'и'
	case 'ї':
		return 'і'
	case 'ά':
		return 'α'
	case 'έ':
		return 'ε'
	case 'ή':
		return 'η'
	case 'ί', 'ϊ', 'ΐ':
		return 'ι'
	case 'ό':
		return 'ο'
	case 'ύ', 'ϋ', 'ΰ':
		return 'υ'
	case 'ώ':
		return 'ω'
	case 'ς':
		return 'σ'
	}
	return r
}

// digit gives the ASCII form of a decimal digit of any script. Unicode keeps each set of
// ten in one run, so counting back to its start gives the value.
func digit(r rune) (byte, bool) {
	switch {
	case r >= 0x0660 && r <= 0x0669:
		return byte('0' + r - 0x0660), true
	case r >= 0x06F0 && r <= 0x06F9:
		return byte('0' + r - 0x06F0), true
	case r >= 0x1D7CE && r <= 0x1D7FF:
		return byte('0' + (r-0x1D7CE)%10), true
	case !unicode.Is(unicode.Nd, r):
		return 0, false
	case r >= 0x0966 && r < 0x0E00:
		return byte('0' + (r-0x0966)%0x80), true
	}
	n := byte(0)
	for n < 9 && unicode.Is(unicode.Nd, r-1) {
		r--
		n++
	}
	return '0' + n, true
}

// latinExtended holds the base letters of U+00C0 to U+024F; '?' marks what has none.
const latinExtended = "aaaaaaaceeeeiiiidnooooo?ouuuuytsaaaaaaaceeeeiiiidnooooo?ouuuuytyaaaaaaccccccccdd" +
	"ddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooooorrrrrrssssss" +
	"ssttttttuuuuuuuuuuuuwwyyyzzzzzzs?b????o???d???eeeff?????kk??????oo?????????????u" +
	"u??yy???????????????dddlllnnnaaiioouuuuuuuuuueaaaaaa??ggkkoooo??jdddgg??nnaaaaoo" +
	"aaaaeeeeiiiioooorrrruuuusstt??hh??????aaeeooooooooyy????????????????????????????"

// latinAdditional holds the base letters of U+1E00 to U+1EFF.
const latinAdditional = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooo" +
	"oooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwyassssd" +
	"aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuu" +
	"uuyyyyyyyyyyyyyy"
