package message

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// lookupCharset finds the charset of a label, nil if unknown. It accepts labels as found in
// messages: followed by a remark, with underscores for hyphens, or with names from programs.
func lookupCharset(label string) encoding.Encoding {
	label = strings.ToLower(label)
	if end := strings.IndexAny(label, " \t,;("); end > 0 {
		label = label[:end]
	}
	if enc := indexedCharset(label); enc != nil {
		return enc
	}
	label = strings.ReplaceAll(label, "_", "-")
	for _, p := range [...][2]string{{"win-", "windows-"}, {"ansi-", "windows-"}, {"dos-", "cp"}, {"ms", "cp"}, {"8859-", "iso-8859-"}} {
		if rest, ok := strings.CutPrefix(label, p[0]); ok {
			label = p[1] + rest
			break
		}
	}
	if other, ok := charsetAliases[label]; ok {
		label = other
	}
	return indexedCharset(label)
}

// charsetAliases are labels of mail programs that neither index contains. Each stands for a charset
// that contains all or nearly all of the intended one.
var charsetAliases = map[string]string{
	"utf8mb4": "utf-8",
	"latin-1": "iso-8859-1", "latin-2": "iso-8859-2", "latin9": "iso-8859-15", "latin-9": "iso-8859-15",
	"cp932": "shift_jis", "cp943": "shift_jis", "cp942": "shift_jis",
	"cp949": "euc-kr", "uhc": "euc-kr", "euckr": "euc-kr",
	"cp950": "big5", "euccn": "gb18030", "euc-cn": "gb18030", "gb-2312": "gb18030", "gb2312-80": "gb18030", "hz": "hz-gb-2312",
	"eucjp": "euc-jp", "cp51932": "euc-jp", "eucjp-win": "euc-jp", "eucjp-ms": "euc-jp",
	"iso-2022-jp-1": "iso-2022-jp", "iso-2022-jp-2": "iso-2022-jp", "iso-2022-jp-3": "iso-2022-jp", "iso-2022-jp-ms": "iso-2022-jp",
	"cp50220": "iso-2022-jp", "cp50221": "iso-2022-jp", "cp50222": "iso-2022-jp",
}

// indexedCharset prefers the WHATWG meaning of a label (iso-8859-1 is windows-1252), as mail
// clients do, over IANA's; nil if both do not know it. Three WHATWG rules are not used: it maps
// some old charsets to "replacement", which would lose the text, it has no UTF-32, and it treats
// UTF-16 as little-endian whatever the byte order mark.
func indexedCharset(label string) encoding.Encoding {
	switch label {
	case "utf-16", "utf16", "ucs-2", "iso-10646-ucs-2":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM) // RFC 2781 section 4.3
	case "utf-32", "utf32", "ucs-4", "iso-10646-ucs-4":
		return utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	}
	if enc, err := htmlindex.Get(label); err == nil && enc != encoding.Replacement {
		return enc
	}
	for _, index := range [...]*ianaindex.Index{ianaindex.MIME, ianaindex.IANA} {
		if enc, err := index.Encoding(label); err == nil && enc != nil {
			return enc
		}
	}
	return nil
}
