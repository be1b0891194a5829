package persist

import (
	"io"
	"slices"

	"inboxd/internal/core/inbox"
)

// A sealed message has an envelope, which is its raw row or blob. It also has the envelopes of its
// attachments and, while it is queued, the message itself under the folder's key. All of these are
// under the message's raw key, followed by a part, and are removed with the message.

// Parts of a message's raw row, in addition to rawSignature. On disk: append only.
const (
	rawFile   byte = 2 // followed by the id of the attachment, one byte
	rawQueued byte = 3
)

// Content types of the blobs of a sealed message. blobFile is combined with the attachment's id. On
// disk: append only.
const (
	blobQueued byte = 3
	blobFile   byte = 0x80
)

// maxFileID is the highest attachment id that blob keys can hold; a message has at most ten.
const maxFileID = 0x7f

// The integer keys of this record are on disk: append only; never reorder or reuse.

type sealedRecord struct {
	RepeatDigest []byte `cbor:"1,keyasint,omitempty"`
	FileCount    int    `cbor:"2,keyasint,omitempty"`
}

func recordSealed(s inbox.EncryptedState) sealedRecord {
	r := sealedRecord{FileCount: s.MaxFileID}
	if s.RepeatDigest != (inbox.MessageDigest{}) {
		r.RepeatDigest = s.RepeatDigest[:]
	}
	return r
}

func (r sealedRecord) toSealed() inbox.EncryptedState {
	s := inbox.EncryptedState{MaxFileID: r.FileCount}
	copy(s.RepeatDigest[:], r.RepeatDigest)
	return s
}

// isRawPart validates the part of a kindRaw key after the address.
func isRawPart(rest []byte) bool {
	switch len(rest) {
	case 8:
		return true
	case 9:
		return rest[8] == rawSignature || rest[8] == rawQueued
	case 10:
		return rest[8] == rawFile
	}
	return false
}

func fileKey(addr string, id int64, file int) []byte {
	return append(appendMessage(nil, kindRaw, addr, id), rawFile, byte(file))
}

func queuedKey(addr string, id int64) []byte {
	return append(appendMessage(nil, kindRaw, addr, id), rawQueued)
}

// putSealed writes what a sealed message has in addition to its envelope.
func (t *inboxTable) putSealed(w *batchWriter, r *inbox.Rows, m *inbox.StoredMessage, files *blobMoves) {
	addr := r.Address
	for _, f := range m.EncryptedFiles {
		t.putPart(w, fileKey(addr, m.ID, f.ID), addr, m.ID, blobFile|byte(f.ID), f.Envelope, files)
	}
	if m.QueuedMessage != nil && !slices.ContainsFunc(r.FinalMessages, func(done *inbox.Message) bool { return done.ID == m.ID }) {
		t.putPart(w, queuedKey(addr, m.ID), addr, m.ID, blobQueued, m.QueuedMessage, files)
	}
}

func (t *inboxTable) putPart(w *batchWriter, key []byte, addr string, id int64, what byte, data []byte, files *blobMoves) {
	if len(data) > blobOver {
		t.blobFiles.putBlob(w, &blobData{addr: addr, id: id, blobKind: what, data: data}, files)
		return
	}
	w.setRaw(key, data)
}

// settleSealed removes what sealed messages no longer need: messages with a final status keep only
// their envelopes, dropped messages nothing.
func (t *inboxTable) settleSealed(w *batchWriter, r *inbox.Rows, gone []int64, files *blobMoves) {
	for _, m := range r.FinalMessages {
		if _, dead := slices.BinarySearch(gone, m.ID); dead {
			continue // dropMessages removes its blobs
		}
		w.deleteKey(queuedKey(r.Address, m.ID))
		w.deleteKey(signatureKey(r.Address, m.ID))
		t.blobFiles.dropPart(w, r.Address, m.ID, blobQueued, files)
	}
	for _, m := range r.DropMessages { // blobs and signatures are removed with the message
		switch {
		case m.IsDamaged: // what it had is unknown
			w.deleteRange(prefixRange(appendMessage(nil, kindRaw, r.Address, m.ID)))
		case m.EncryptedState != nil:
			for file := 1; file <= m.EncryptedState.MaxFileID; file++ {
				w.deleteKey(fileKey(r.Address, m.ID, file))
			}
			if m.OutgoingDelivery != nil {
				w.deleteKey(queuedKey(r.Address, m.ID))
			}
		}
	}
}

// dropPart adds to w the removal of one blob of a message, if it exists.
func (b *blobFiles) dropPart(w *batchWriter, addr string, id int64, what byte, files *blobMoves) {
	key := blobKey(nil, addr, id, what)
	r, err := b.findBlob(key)
	if err != nil || r == nil {
		w.noteError(err)
		return
	}
	w.deleteKey(key)
	files.droppedBlobs = append(files.droppedBlobs, r.BlobName)
}

// OpenFile opens the envelope of an attachment, as OpenRaw does.
func (t *inboxTable) OpenFile(addr string, id int64, file int) (*io.SectionReader, error) {
	if file < 1 || file > maxFileID {
		return nil, nil
	}
	return t.openBytes(fileKey(addr, id, file), blobFile|byte(file), addr, id)
}

// QueuedCopy reads the copy of a sealed message that its delivery attempts send; nil if it does not
// exist.
func (t *inboxTable) QueuedCopy(addr string, id int64) (copied []byte, err error) {
	_, err = t.largeAt(queuedKey(addr, id), blobQueued, addr, id, func(value []byte) (err error) {
		copied, err = readRaw(value)
		return err
	}, readWhole(func(file []byte) error {
		copied = file
		return nil
	}))
	return copied, err
}
