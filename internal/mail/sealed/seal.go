package sealed

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"filippo.io/age"

	"inboxd/internal/base/fault"
	"inboxd/internal/mail/message"
)

// MediaType is the media type of every envelope.
const MediaType = "application/age"

// The content of an envelope is divided into chunks, each with a tag.
const (
	chunk = 64 << 10
	tag   = 16
)

// An envelope begins with a header of one stanza and a nonce, whose total length is constant.
const header = 168 + 16

// EnvelopeSize returns the size of the envelope of plain bytes.
func EnvelopeSize(plain int64) int64 { return header + plain + max(1, (plain+chunk-1)/chunk)*tag }

// Seal returns the envelope of plain, in newly allocated memory.
func (r Recipient) Seal(plain []byte) ([]byte, error) {
	return r.SealFrom(bytes.NewReader(plain), int64(len(plain)))
}

// SealFrom encrypts the content of from, about size bytes. If it fails, the error is
// fault.Unavailable and no envelope is returned, not even a partial one.
func (r Recipient) SealFrom(from io.Reader, size int64) ([]byte, error) {
	envelope, err := r.seal(from, size)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "The message could not be encrypted, try again", err)
	}
	return envelope, nil
}

func (r Recipient) seal(from io.Reader, size int64) ([]byte, error) {
	if r.point == nil {
		return nil, errors.New("there is no recipient")
	}
	var out bytes.Buffer
	out.Grow(int(EnvelopeSize(size)))
	w, err := age.Encrypt(&out, stanza(r))
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(w, from); err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// Mail is a message that only its recipient can read.
type Mail struct {
	Envelope []byte // of the whole message
	Files    []File // of each stored attachment, by id
}

// File is the envelope of one attachment.
type File struct {
	ID       int
	Envelope []byte
}

// Mail encrypts a message, and each of its attachments separately. It only reads raw.
func (r Recipient) Mail(raw []byte) (m Mail, err error) {
	if m.Envelope, err = r.Seal(raw); err != nil {
		return Mail{}, err
	}
	message.EachFile(raw, func(id int, f *message.File) bool {
		var file []byte
		if file, err = r.SealFrom(f.Reader(bytes.NewReader(raw)), f.Size); err != nil {
			return false
		}
		m.Files = append(m.Files, File{id, file})
		return true
	})
	if err != nil {
		return Mail{}, err
	}
	return m, nil
}

// Facts are the unencrypted facts of a document: the number and sizes of its files, with
// meaningless names. Their ids are their positions in the list, as in Mail.
func Facts(doc *message.Document) message.Document {
	var facts message.Document
	facts.AttachmentsOmitted = doc.AttachmentsOmitted
	for i, a := range doc.Attachments {
		facts.Attachments = append(facts.Attachments, message.Attachment{
			ID: i + 1, Filename: "encrypted-" + strconv.Itoa(i+1) + ".age", ContentType: MediaType, Size: a.Size, Truncated: a.Truncated,
		})
	}
	return facts
}
