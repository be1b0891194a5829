package message

import (
	"bytes"
	"io"
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
	p, size, found := findAttachment(raw, id)
	if !found {
		return nil, false
	}
	return p.decoded(size), true
}

func (p *part) decoded(size int64) []byte {
	d := decoder{src: p.body, encoding: p.encoding}
	return d.appendTo(make([]byte, 0, size), int(size))
}

// findAttachment also returns how many bytes the file has, decoded.
func findAttachment(raw []byte, id int) (at part, size int64, found bool) {
	eachAttachment(raw, func(a *Attachment, p *part) bool {
		if a.ID == id {
			at, size, found = *p, a.Size, true
		}
		return !found
	})
	return at, size, found
}

// eachAttachment calls fn with those that no receiving limit cost their bytes, until it says false.
func eachAttachment(raw []byte, fn func(*Attachment, *part) bool) {
	var (
		sort  sorter
		files ledger
		over  bool
	)
	walkLeaves(raw, nil, func(p part) {
		if over || sort.role(&p) != attached {
			return
		}
		if a, ok := files.admit(&p); ok && !a.Truncated {
			over = !fn(&a, &p)
		}
	})
}

// EachFile calls fn with every attachment that FindAttachment would find, in one walk, until it says false.
func EachFile(raw []byte, fn func(id int, f *File) bool) {
	eachAttachment(raw, func(a *Attachment, p *part) bool { return fn(a.ID, p.file(raw, a.Size)) })
}

// File is an attachment to be read in pieces.
type File struct {
	Size  int64
	Bytes []byte // the file itself where that can't be done, in memory of its own; else nil

	base64  bool
	at, end int64 // where it lies in the message, encoded
}

// FindAttachment is AttachmentBytes for who reads in pieces.
func FindAttachment(raw []byte, id int) (*File, bool) {
	p, size, found := findAttachment(raw, id)
	if !found {
		return nil, false
	}
	return p.file(raw, size), true
}

// file is a part that lies in raw as a file of size bytes.
func (p *part) file(raw []byte, size int64) *File {
	f := &File{Size: size, base64: p.encoding == base64Encoding}
	at := cap(raw) - cap(p.body)
	inPlace := at >= 0 && at < len(raw) && len(p.body) > 0 && &raw[at] == &p.body[0] // else it was rewritten to be read
	if !inPlace || !f.base64 && p.encoding != identity {
		f.Bytes = p.decoded(size)
		return f
	}
	f.at, f.end = int64(at), int64(at+len(p.body))
	return f
}

// Reader reads the file out of the message that it was found in.
func (f *File) Reader(raw io.ReaderAt) io.Reader {
	if f.Bytes != nil {
		return bytes.NewReader(f.Bytes)
	}
	encoded := io.NewSectionReader(raw, f.at, f.end-f.at)
	if !f.base64 {
		return encoded
	}
	// The size is where the data ended.
	return io.LimitReader(&base64Reader{src: encoded, decoder: decoder{encoding: base64Encoding, pieces: true}}, f.Size)
}

// base64Reader decodes piece by piece, in place: what is decoded is no longer than what it
// was decoded from.
type base64Reader struct {
	src io.Reader
	decoder
}

func (r *base64Reader) Read(p []byte) (int, error) {
	for {
		n, err := r.src.Read(p)
		r.decoder.src = p[:n]
		if n = r.readBase64(p[:n]); n > 0 || err != nil {
			return n, err
		}
	}
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
