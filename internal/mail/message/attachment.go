package message

import (
	"bytes"
	"html"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// attachmentIndex holds the files of a message in order, and applies the receiving limits
// (specification, Attachments). One walk owns it.
//
// The id of a file is its position in the message. Unlisted files count too, so that an id does not
// depend on which files are listed. Files inside an opaque signature come after all others, so that
// the message's own files have the same ids as without parsing the signature.
type attachmentIndex struct {
	outerFiles, signedFiles []numberedPart
}

// numberedPart is a part with its id.
type numberedPart struct {
	mimePart
	id          int
	shownInHTML bool // displayed by the HTML
}

func (l *attachmentIndex) addFile(p *mimePart) {
	if p.isSigned {
		l.signedFiles = append(l.signedFiles, numberedPart{mimePart: *p})
	} else {
		l.outerFiles = append(l.outerFiles, numberedPart{mimePart: *p, id: len(l.outerFiles) + 1})
	}
}

// allFiles are the files by id.
func (l *attachmentIndex) allFiles() []numberedPart {
	all := l.outerFiles
	for _, n := range l.signedFiles {
		n.id = len(all) + 1
		all = append(all, n)
	}
	return all
}

// listedFiles are the listed files. If there are more than maxFiles, other files take precedence over
// images that the HTML displays.
func (l *attachmentIndex) listedFiles(page func() string) (kept []numberedPart, omitted int) {
	all := l.allFiles()
	if len(all) <= maxFiles {
		return all, 0
	}
	all = slices.Clone(all)
	cids := contentIDs(page())
	for i := range all {
		all[i].shownInHTML = all[i].isShown(cids)
	}
	slices.SortStableFunc(all, func(a, b numberedPart) int {
		switch {
		case a.shownInHTML == b.shownInHTML:
			return 0
		case a.shownInHTML:
			return 1
		}
		return -1
	})
	return all[:maxFiles], len(all) - maxFiles
}

// isShown reports whether an image is referenced by a page, or belongs to a page by its position.
func (p *mimePart) isShown(cids map[string]bool) bool {
	if !strings.HasPrefix(p.mediaType, "image/") && p.mediaType != "application/octet-stream" {
		return false
	}
	related := p.parent != nil && p.parent.subtype == "related"
	return cids[p.contentID] || p.isInline && related
}

// contentIDs are the Content-IDs that HTML refers to (RFC 2392).
func contentIDs(page string) map[string]bool {
	ids := map[string]bool{}
	for len(ids) < maxParts {
		_, rest, found := strings.Cut(page, "cid:")
		if !found {
			break
		}
		end := strings.IndexAny(rest, "\"'<>) \t\r\n")
		if end < 0 {
			end = len(rest)
		}
		id := html.UnescapeString(rest[:min(end, maxContentID)])
		if decoded, err := url.PathUnescape(id); err == nil {
			id = decoded
		}
		ids[id] = true
		page = rest[end:]
	}
	delete(ids, "") // of a file without Content-ID
	return ids
}

// describeFiles describes the listed files. A file beyond a limit is truncated and does not use up
// the limit of later ones. page returns the HTML, and is called only if something is omitted.
func (l *attachmentIndex) describeFiles(page func() string) (list []Attachment, omitted int) {
	kept, omitted := l.listedFiles(page)
	total := int64(0)
	for i := range kept {
		n := &kept[i]
		d := decoder{src: n.body, encoding: n.encoding}
		a := Attachment{ID: n.id, ContentType: n.mediaType, Size: d.decodedSize(), ContentID: shortID(n.contentID)}
		a.Filename = CleanFilename(n.filename)
		if a.Filename == "" {
			a.Filename = "attachment-" + strconv.Itoa(a.ID) + extensionOf(n.mediaType)
		}
		if a.Truncated = a.Size > maxFileSize || total+a.Size > maxFilesSize; !a.Truncated {
			total += a.Size
		}
		list = append(list, a)
	}
	return list, omitted
}

func shortID(id string) string {
	if len(id) > maxContentID {
		return ""
	}
	return strings.Clone(CleanHeader(id))
}

// filesOf walks a message only for its files.
func filesOf(raw []byte) *attachmentIndex {
	var sort leafSorter
	files := new(attachmentIndex)
	walkLeaves(raw, nil, func(p mimePart) {
		if sort.assignRole(&p) == attachedLeaf {
			files.addFile(&p)
		}
	})
	return files
}

// AttachmentBytes decodes the attachment to which Parse gave this id, from the same raw message. It
// returns false if it does not exist, or if it is larger than the limit of a file.
func AttachmentBytes(raw []byte, id int) ([]byte, bool) {
	p, size, found := findAttachment(raw, id)
	if !found {
		return nil, false
	}
	return p.decodeBody(size), true
}

func (p *mimePart) decodeBody(size int64) []byte {
	d := decoder{src: p.body, encoding: p.encoding}
	return d.appendTo(make([]byte, 0, size), int(size))
}

// findAttachment also returns the decoded size of the file. It does not depend on which files are
// listed, because the list stored with a message may have been made by other rules.
func findAttachment(raw []byte, id int) (at *mimePart, size int64, found bool) {
	all := filesOf(raw).allFiles()
	if id < 1 || id > len(all) {
		return nil, 0, false
	}
	at = &all[id-1].mimePart
	d := decoder{src: at.body, encoding: at.encoding}
	size = d.decodedSize()
	return at, size, size <= maxFileSize
}

func pageOf(raw []byte) func() string { return func() string { return Parse(raw).HTML } }

// EachFile calls fn with every attachment that is not truncated, in one walk, until it returns
// false. place is its position in the list, from 1.
func EachFile(raw []byte, fn func(place int, f *AttachmentSource) bool) {
	files := filesOf(raw)
	list, _ := files.describeFiles(pageOf(raw))
	all := files.allFiles()
	for i, a := range list {
		if !a.Truncated && !fn(i+1, all[a.ID-1].attachmentSource(raw, a.Size)) {
			return
		}
	}
}

// AttachmentSource is an attachment to be read in pieces.
type AttachmentSource struct {
	Size  int64
	Bytes []byte // the decoded file, if it cannot be read in pieces; else nil

	base64  bool
	at, end int64 // position in the message, encoded
}

// FindAttachment is AttachmentBytes for reading in pieces.
func FindAttachment(raw []byte, id int) (*AttachmentSource, bool) {
	p, size, found := findAttachment(raw, id)
	if !found {
		return nil, false
	}
	return p.attachmentSource(raw, size), true
}

// attachmentSource is a part of raw as a file of size bytes.
func (p *mimePart) attachmentSource(raw []byte, size int64) *AttachmentSource {
	f := &AttachmentSource{Size: size, base64: p.encoding == base64Encoding}
	at := cap(raw) - cap(p.body)
	inPlace := at >= 0 && at < len(raw) && len(p.body) > 0 && &raw[at] == &p.body[0] // otherwise it was modified for parsing
	if !inPlace || !f.base64 && p.encoding != identityEncoding {
		f.Bytes = p.decodeBody(size)
		return f
	}
	f.at, f.end = int64(at), int64(at+len(p.body))
	return f
}

// OpenReader reads the file from the message in which it was found.
func (f *AttachmentSource) OpenReader(raw io.ReaderAt) io.Reader {
	if f.Bytes != nil {
		return bytes.NewReader(f.Bytes)
	}
	encoded := io.NewSectionReader(raw, f.at, f.end-f.at)
	if !f.base64 {
		return encoded
	}
	// Data after the end of the base64 text is not part of the file.
	return io.LimitReader(&base64Reader{src: encoded, decoder: decoder{encoding: base64Encoding, isPiece: true}}, f.Size)
}

// base64Reader decodes in pieces and in place, because decoded data is never longer than its
// encoding.
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

// CleanFilename makes a sender's file name safe to display and to save: no folder, no control or
// direction-changing characters, valid UTF-8, at most maxFilename characters with the extension
// kept. It returns "" if nothing is left.
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

// extensionOf is the extension of the name generated for a nameless file.
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
