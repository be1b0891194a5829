package http

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"inboxd/http/search"
	"inboxd/http/wire"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
)

// rawMessage responds with the message as received. It can be intact even if the message's row is
// damaged.
func (m *messageHandlers) rawMessage(r *apiRequest) error {
	e, err := m.findMessage(r, 0)
	if err != nil && !fault.Is(err, fault.DataDamaged) {
		return err
	}
	raw, err := m.openRaw(r, e.messageMeta)
	if err != nil {
		return err
	}
	if e.messageMeta.EncryptedState != nil {
		r.answerDownload(sealed.MediaType, fmt.Sprintf("message-%d.eml.age", e.messageMeta.ID))
	} else {
		r.answerDownload("message/rfc822", fmt.Sprintf("message-%d.eml", e.messageMeta.ID))
	}
	r.inPieces(raw, raw.Size())
	return nil
}

// openRaw opens the stored message. That checks all of it, so a large message needs a turn.
func (m *messageHandlers) openRaw(r *apiRequest, meta *inbox.Message) (*io.SectionReader, error) {
	if err := r.awaitTurn(meta.Size); err != nil {
		return nil, err
	}
	raw, err := m.messageReader.RawMessage(r.ctx, r.inboxAddress, meta.ID)
	if err == nil && raw == nil {
		err = inbox.NoMessage(meta.ID, r.inboxAddress)
	}
	return raw, err
}

// sendAttachment responds with an attached file, extracted from the message as received.
func (m *messageHandlers) sendAttachment(r *apiRequest) error {
	e, err := m.findMessage(r, fieldsNamed("attachments"))
	if err != nil {
		return err
	}
	given := pathParameter(r.httpCtx, "aid")
	a := attachmentOf(&e.content.Doc, given)
	missing := fault.New(fault.NotFound, fmt.Sprintf("Attachment %s not found in message %d of inbox %s", given, e.messageMeta.ID, r.inboxAddress))
	switch {
	case a == nil:
		return missing
	case a.Truncated:
		return fault.Refuse(fault.CodeAttachmentNotStored, "Attachment was too large to store. Only its name, type and size were kept")
	}
	if e.messageMeta.EncryptedState != nil {
		return m.sealedFile(r, e.messageMeta, a, missing)
	}
	raw, err := m.openRaw(r, e.messageMeta)
	if err != nil {
		return err
	}
	file, err := m.findAttachment(r, e.messageMeta.ID, a.ID, raw)
	if err != nil {
		return err
	}
	if file == nil {
		return missing
	}
	r.answerDownload(r.route.fileType(a.ContentType), a.Filename)
	if file.Bytes != nil {
		r.httpCtx.Response.SetBodyRaw(file.Bytes)
	} else {
		r.inPieces(file.OpenReader(raw), file.Size)
	}
	return nil
}

// sealedFile responds with the encrypted envelope of an attachment.
func (m *messageHandlers) sealedFile(r *apiRequest, meta *inbox.Message, a *message.Attachment, missing error) error {
	if err := r.awaitTurn(a.Size); err != nil {
		return err
	}
	envelope, err := m.messageReader.AttachmentFile(r.ctx, r.inboxAddress, meta.ID, a.ID)
	if err != nil {
		return err
	}
	if envelope == nil {
		return missing
	}
	if r.route.isCompat() {
		return r.sealedJSON(envelope, missing)
	}
	r.answerDownload(sealed.MediaType, a.Filename)
	r.inPieces(envelope, envelope.Size())
	return nil
}

// findAttachment locates an attachment in the message. It returns nil if the attachment does not exist.
func (m *messageHandlers) findAttachment(r *apiRequest, id int64, aid int, raw *io.SectionReader) (*message.AttachmentSource, error) {
	r.releaseTurn() // the document is no longer needed
	this := fileID{r.inboxAddress, id, aid}
	if file := m.attachmentPlaces.of(this); file != nil {
		return file, nil
	}
	if err := r.reserveBytes(raw.Size()); err != nil {
		return nil, err
	}
	file := m.attachmentPlaces.of(this) // another request may have found it while this one waited
	if file != nil {
		return file, nil
	}
	all := borrowBuffer(raw.Size())
	defer bufferPool.Put(all)
	_, err := io.ReadFull(raw, *all)
	switch {
	case errors.Is(err, fs.ErrNotExist): // deleted in the meantime
		return nil, nil
	case err != nil:
		return nil, err
	}
	file, _ = message.FindAttachment(*all, aid)
	m.attachmentPlaces.keepPlace(this, file)
	return file, nil
}

// attachmentPlaces caches where attachments are in their messages, which never change. Locating one
// requires parsing the whole message, and its downloads often come together.
type attachmentPlaces struct {
	mu          sync.Mutex
	knownPlaces map[fileID]*message.AttachmentSource
}

type fileID struct {
	address string
	message int64
	id      int
}

// mostPlaces is how many positions are cached.
const mostPlaces = 1024

func (p *attachmentPlaces) of(f fileID) *message.AttachmentSource {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.knownPlaces[f]
}

func (p *attachmentPlaces) keepPlace(f fileID, file *message.AttachmentSource) {
	if file == nil || file.Bytes != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.knownPlaces == nil || len(p.knownPlaces) == mostPlaces {
		p.knownPlaces = map[fileID]*message.AttachmentSource{}
	}
	p.knownPlaces[f] = file
}

// bufferPool is a pool of buffers for complete messages. A thousand simultaneous downloads parse their
// messages one after the other. Without the pool, the garbage collector would run all the time on
// the processor that is reserved for polls.
var bufferPool sync.Pool

func borrowBuffer(n int64) *[]byte {
	if b, ok := bufferPool.Get().(*[]byte); ok && int64(cap(*b)) >= n {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n)
	return &b
}

func attachmentOf(d *message.ParsedMessage, given string) *message.Attachment {
	id, ok := parseID(given)
	for i := range d.Attachments {
		if ok && int64(d.Attachments[i].ID) == id {
			return &d.Attachments[i]
		}
	}
	return nil
}

// answerDownload sets the headers of a response whose content comes from a stranger. Browsers must save
// it, and must never render or sniff it with this service's origin.
func (r *apiRequest) answerDownload(contentType, filename string) {
	h := &r.httpCtx.Response.Header
	h.SetContentType(contentType)
	h.Set("Content-Disposition", contentDisposition(filename))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.SetCanonical(headerCache, cacheNever)
	r.httpCtx.SetStatusCode(fasthttp.StatusOK)
}

// inPieces reads the body while it is written, so that a peer that does not read holds only one
// piece. If the message is deleted in the meantime, the response ends short of its Content-Length
// and the connection is closed.
func (r *apiRequest) inPieces(from io.Reader, size int64) {
	log, id, name := r.server.opts.Logger, wire.RequestID(r.httpCtx), r.route.routeName()
	body := &pieceReader{bodySource: from, searchTurns: r.server.searchTurns, widenWindow: wire.NarrowWindow(r.httpCtx), onFailed: func(err error) {
		log.Error("http: response was cut off", "request", id, "route", name, "err", err)
	}}
	r.httpCtx.Response.SetBodyStream(body, int(size))
}

// pieceReader is a response body that is read from the store.
type pieceReader struct {
	bodySource  io.Reader
	searchTurns *search.TurnLimiter
	onFailed    func(error)

	piecesBegun int    // number of pieces read so far
	widenWindow func() // lets the kernel buffer more of the response
}

const (
	pieceBytes = 16 << 10
	// readPieces is more than the kernel and a peer that does not read can buffer of the start of a
	// download.
	readPieces = 32
)

var pieceBuffers = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// Read waits for its turn. If a thousand downloads start at once, nearly all of their goroutines
// wait here, so the scheduler's run queue stays short for polls.
func (p *pieceReader) Read(b []byte) (n int, err error) {
	if p.piecesBegun++; p.piecesBegun == readPieces {
		p.widenWindow()
	}
	p.searchTurns.RunPiece(func() { n, err = p.bodySource.Read(b) })
	if err != nil && err != io.EOF && !errors.Is(err, fs.ErrNotExist) {
		p.onFailed(err)
	}
	return n, err
}

// WriteTo implements io.WriterTo, which fasthttp uses to read a body.
func (p *pieceReader) WriteTo(w io.Writer) (int64, error) {
	b := pieceBuffers.Get().(*[pieceBytes]byte)
	defer pieceBuffers.Put(b)
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{p}, b[:])
}

// inertTypes are types that browsers do not execute. Every other type is sent as
// application/octet-stream.
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

// contentDisposition returns a Content-Disposition with the name in ASCII for old clients and in
// UTF-8 for others (RFC 6266 appendix D, RFC 8187).
func contentDisposition(filename string) string {
	if filename == "" {
		filename = "attachment"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%/;`, r) {
			return '_'
		}
		return r
	}, filename)
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + percentEncode(filename)
}

// percentEncode percent-encodes all bytes except attr-char of RFC 8187 section 3.2.1.
func percentEncode(s string) string {
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
