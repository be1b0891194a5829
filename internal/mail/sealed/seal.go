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
	chunkSize = 64 << 10
	tagSize   = 16
)

// An envelope begins with a header of one stanza and a nonce, whose total length is constant.
const headerSize = 168 + 16

// EnvelopeSize returns the size of the envelope of plain bytes.
func EnvelopeSize(plain int64) int64 {
	return headerSize + plain + max(1, (plain+chunkSize-1)/chunkSize)*tagSize
}

// Seal returns the envelope of plain, in newly allocated memory.
func (r RecipientKey) Seal(plain []byte) ([]byte, error) {
	return r.SealFrom(bytes.NewReader(plain), int64(len(plain)))
}

// SealFrom encrypts the content of from, about size bytes. If it fails, the error is
// fault.TemporarilyUnavailable and no envelope is returned, not even a partial one.
func (r RecipientKey) SealFrom(from io.Reader, size int64) ([]byte, error) {
	envelope, err := r.sealReader(from, size)
	if err != nil {
		return nil, fault.Wrap(fault.TemporarilyUnavailable, "The message could not be encrypted, try again", err)
	}
	return envelope, nil
}

func (r RecipientKey) sealReader(from io.Reader, size int64) ([]byte, error) {
	if r.publicKey == nil {
		return nil, errors.New("there is no recipient")
	}
	var out bytes.Buffer
	out.Grow(int(EnvelopeSize(size)))
	w, err := age.Encrypt(&out, stanzaRecipient(r))
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(w, from); err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// SealedMessage is a message that only its recipient can read.
type SealedMessage struct {
	Envelope []byte         // of the whole message
	Files    []FileEnvelope // of each stored attachment, by id
}

// FileEnvelope is the envelope of one attachment.
type FileEnvelope struct {
	ID       int
	Envelope []byte
}

// SealedMessage encrypts a message, and each of its attachments separately. It only reads raw.
func (r RecipientKey) SealMessage(raw []byte) (m SealedMessage, err error) {
	if m.Envelope, err = r.Seal(raw); err != nil {
		return SealedMessage{}, err
	}
	message.EachFile(raw, func(id int, f *message.AttachmentSource) bool {
		var file []byte
		if file, err = r.SealFrom(f.OpenReader(bytes.NewReader(raw)), f.Size); err != nil {
			return false
		}
		m.Files = append(m.Files, FileEnvelope{id, file})
		return true
	})
	if err != nil {
		return SealedMessage{}, err
	}
	return m, nil
}

// UnencryptedFacts are the unencrypted facts of a document: the number and sizes of its files, with
// meaningless names. Their ids are their positions in the list, as in Mail.
func UnencryptedFacts(doc *message.ParsedMessage) message.ParsedMessage {
	var facts message.ParsedMessage
	facts.AttachmentsOmitted = doc.AttachmentsOmitted
	for i, a := range doc.Attachments {
		facts.Attachments = append(facts.Attachments, message.Attachment{
			ID: i + 1, Filename: "encrypted-" + strconv.Itoa(i+1) + ".age", ContentType: MediaType, Size: a.Size, Truncated: a.Truncated,
		})
	}
	return facts
}
