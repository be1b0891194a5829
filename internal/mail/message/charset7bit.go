package message

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/korean"
)

// The seven-bit charsets that golang.org/x/text does not support.

// decodeUTF7 decodes RFC 2152: +base64- stands for UTF-16, +- for a plus sign.
func decodeUTF7(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		plus := bytes.IndexByte(b, '+')
		if plus < 0 {
			plus = len(b)
		}
		out = append(out, b[:plus]...)
		if b = b[plus:]; len(b) == 0 {
			break
		}
		end := 1
		for end < len(b) && b[end] != '-' && b[end] != '_' && base64Value[b[end]] < 64 {
			end++
		}
		if end == 1 && end < len(b) && b[end] == '-' {
			out = append(out, '+')
		}
		d := decoder{src: b[1:end], encoding: base64Encoding}
		out = appendUTF16(out, d.appendTo(nil, end))
		if b = b[end:]; len(b) > 0 && b[0] == '-' {
			b = b[1:]
		}
	}
	return bytes.ToValidUTF8(out, []byte("\uFFFD"))
}

// appendUTF16 appends big-endian UTF-16 as UTF-8; an odd byte at the end is padding.
func appendUTF16(out, b []byte) []byte {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(b[2*i:])
	}
	for _, r := range utf16.Decode(units) {
		out = utf8.AppendRune(out, r)
	}
	return out
}

// decodeISO2022KR decodes RFC 1557: between SO and SI two bytes are one character of KS X 1001,
// which is EUC-KR without the high bits.
func decodeISO2022KR(b []byte) []byte {
	euc := make([]byte, 0, len(b))
	b = bytes.ReplaceAll(b, []byte("\x1b$)C"), nil)
	var high byte
	for _, c := range b {
		switch {
		case c == 0x0e:
			high = 0x80
		case c == 0x0f:
			high = 0
		case c > ' ' && c < 0x7f:
			euc = append(euc, c|high)
		default:
			euc = append(euc, c)
		}
		if c == '\n' {
			high = 0 // every line begins in ASCII
		}
	}
	text, _ := korean.EUCKR.NewDecoder().Bytes(euc)
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}
