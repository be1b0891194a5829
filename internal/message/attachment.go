package message

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ledger numbers the attachments of a message and applies the receiving limits
// (specification, Attachments). One walk owns it.
type ledger struct {
	count int
	total int64 // decoded bytes of the files that are kept
}

// admit counts p and describes it; ok is false when maxFiles were already recorded. A file
// that passes a limit is recorded as truncated and leaves its room to later ones.
func (l *ledger) admit(p *part) (a Attachment, ok bool) {
	if l.count >= maxFiles {
		return a, false
	}
	l.count++
	d := decoder{src: p.body, encoding: p.encoding}
	a = Attachment{ID: l.count, ContentType: p.mediaType, Size: d.size()}
	a.Filename = CleanFilename(p.filename)
	if a.Filename == "" {
		a.Filename = "attachment-" + strconv.Itoa(a.ID) + extensionOf(p.mediaType)
	}
	a.Truncated = a.Size > maxFileSize || l.total+a.Size > maxFilesSize
	if !a.Truncated {
		l.total += a.Size
	}
	return a, true
}

// AttachmentBytes decodes the attachment that Parse gave this id out of the same raw
// message. It is false when there is none, or when a receiving limit cost it its bytes.
func AttachmentBytes(raw []byte, id int) ([]byte, bool) {
	var (
		content []byte
		found   bool
		sort    sorter
		files   ledger
	)
	walkLeaves(raw, nil, func(p part) {
		if found || sort.role(&p) != attached {
			return
		}
		a, ok := files.admit(&p)
		if !ok || a.ID != id || a.Truncated {
			return
		}
		d := decoder{src: p.body, encoding: p.encoding}
		content, found = d.appendTo(make([]byte, 0, a.Size), int(a.Size)), true
	})
	return content, found
}

// CleanFilename makes a sender's file name safe to show and to save: no folder, no
// control or direction-changing characters, valid UTF-8, at most maxFilename characters
// with the extension kept. It returns "" when nothing is left.
func CleanFilename(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if strings.Trim(name, ". ") == "" {
		return ""
	}
	if utf8.RuneCountInString(name) <= maxFilename {
		return name
	}
	var extension []rune
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && len(name)-dot <= 16 {
		extension = []rune(name[dot:])
		name = name[:dot]
	}
	stem := []rune(name)
	return string(stem[:min(len(stem), maxFilename-len(extension))]) + string(extension)
}

// extensionOf is the ending of the name invented for a nameless file.
func extensionOf(mediaType string) string {
	switch mediaType {
	case "text/calendar", "application/ics":
		return ".ics"
	case "text/plain":
		return ".txt"
	case "text/html":
		return ".html"
	case "text/csv":
		return ".csv"
	case "text/vcard", "text/x-vcard":
		return ".vcf"
	case "message/rfc822", "message/global":
		return ".eml"
	case "application/pdf":
		return ".pdf"
	case "application/zip":
		return ".zip"
	case "application/json":
		return ".json"
	case "application/xml", "text/xml":
		return ".xml"
	case "application/pgp-signature":
		return ".asc"
	case "application/pkcs7-signature", "application/x-pkcs7-signature":
		return ".p7s"
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "image/svg+xml":
		return ".svg"
	}
	return ".bin"
}
