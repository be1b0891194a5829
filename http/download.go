package http

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/message"
)

// rawMessage answers with the message as received.
func (m *messages) rawMessage(r *request) error {
	e, raw, err := m.raw(r, 0)
	if err != nil {
		return err
	}
	download(r.http, "message/rfc822", fmt.Sprintf("message-%d.eml", e.meta.ID), raw)
	return nil
}

func (m *messages) raw(r *request, set fieldSet) (messageJSON, []byte, error) {
	e, err := m.message(r, set)
	if err != nil {
		return e, nil, err
	}
	raw, err := m.port.Raw(r.ctx, r.address, e.meta.ID)
	if err == nil && raw == nil {
		err = inbox.NoMessage(e.meta.ID, r.address)
	}
	return e, raw, err
}

// attachment answers with the file itself, cut out of the message as received.
func (m *messages) attachment(r *request) error {
	e, err := m.message(r, fieldsNamed("attachments"))
	if err != nil {
		return err
	}
	given := parameter(r.http, "aid")
	a := attachmentOf(&e.content.Doc, given)
	missing := fault.New(fault.NotFound, fmt.Sprintf("Attachment %s not found in message %d of inbox %s", given, e.meta.ID, r.address))
	switch {
	case a == nil:
		return missing
	case a.Truncated:
		return fault.New(fault.Refused, "Attachment was too large to store. Only its name, type and size were kept")
	}
	_, raw, err := m.raw(r, 0)
	if err != nil {
		return err
	}
	file, ok := message.AttachmentBytes(raw, a.ID)
	if !ok {
		return missing
	}
	download(r.http, inertType(a.ContentType), a.Filename, file)
	return nil
}

func attachmentOf(d *message.Document, given string) *message.Attachment {
	id, ok := number(given)
	for i := range d.Attachments {
		if ok && int64(d.Attachments[i].ID) == id {
			return &d.Attachments[i]
		}
	}
	return nil
}

// download answers with bytes of a stranger: to be saved, never to be shown or sniffed by a
// browser in the name of this service.
func download(c *fasthttp.RequestCtx, contentType, filename string, body []byte) {
	h := &c.Response.Header
	h.SetContentType(contentType)
	h.Set("Content-Disposition", disposition(filename))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.SetCanonical(headerCache, cacheNever)
	c.SetStatusCode(fasthttp.StatusOK)
	c.Response.SetBodyRaw(body)
}

// inertTypes run nothing in a browser; any other type is called application/octet-stream.
var inertTypes = map[string]bool{
	"application/gzip": true, "application/json": true, "application/pdf": true, "application/zip": true,
	"application/msword": true, "application/vnd.ms-excel": true, "application/vnd.ms-powerpoint": true,
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   true,
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         true,
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": true,
	"audio/mpeg": true, "audio/ogg": true, "audio/wav": true,
	"image/avif": true, "image/bmp": true, "image/gif": true, "image/jpeg": true, "image/png": true, "image/tiff": true, "image/webp": true,
	"message/rfc822": true, "text/calendar": true, "text/csv": true, "text/plain": true,
	"video/mp4": true, "video/webm": true,
}

func inertType(declared string) string {
	if inertTypes[declared] {
		return declared
	}
	return "application/octet-stream"
}

// disposition gives the name twice: in ASCII for the old, in UTF-8 for the others
// (RFC 6266 appendix D, RFC 8187).
func disposition(filename string) string {
	if filename == "" {
		filename = "attachment"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%/;`, r) {
			return '_'
		}
		return r
	}, filename)
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + extended(filename)
}

// extended percent-encodes all but attr-char of RFC 8187 section 3.2.1.
func extended(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if letter || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
