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

// MediaType is that of every envelope.
const MediaType = "application/age"

// What is in an envelope lies there in chunks, each with a tag.
const (
	chunk = 64 << 10
	tag   = 16
)

// An envelope begins with a header of one stanza and a nonce, of always the same length.
const header = 168 + 16

// EnvelopeSize is how many bytes the envelope of so many has.
func EnvelopeSize(plain int64) int64 { return header + plain + max(1, (plain+chunk-1)/chunk)*tag }

// Seal returns the envelope of plain, in memory of its own.
func (r Recipient) Seal(plain []byte) ([]byte, error) {
	return r.SealFrom(bytes.NewReader(plain), int64(len(plain)))
}

// SealFrom is Seal of what from gives, about size bytes. When it can't be done the error is
// fault.Unavailable, and there is no envelope: never a half of one.
func (r Recipient) SealFrom(from io.Reader, size int64) ([]byte, error) {
	envelope, err := r.seal(from, size)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "The mail could not be encrypted, try again", err)
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

// Mail is a mail that only its recipient can read.
type Mail struct {
	Envelope []byte // of the whole message
	Files    []File // of each attachment that is kept, by id
}

// File is the envelope of one attachment.
type File struct {
	ID       int
	Envelope []byte
}

// Mail seals a message and each of its attachments for itself. raw is only read.
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

// Facts are what may be told in the clear of a document: how many files of what size there are,
// under names that say nothing. Their ids are their places in the list, as those of Mail.
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
