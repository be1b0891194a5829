package sealed

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"inboxd/internal/base/fault"
	"inboxd/internal/mail/message"
	"inboxd/internal/testutil/testtools"
)

// person has a key pair.
type person struct {
	RecipientKey
	identity *age.X25519Identity
}

func newPerson(t testing.TB) person {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRecipient("public_key", identity.Recipient().String())
	if err != nil {
		t.Fatal(err)
	}
	return person{r, identity}
}

func (p person) open(t testing.TB, envelope []byte) []byte {
	t.Helper()
	r, err := age.Decrypt(bytes.NewReader(envelope), p.identity)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// lowOrder is the bech32 text of the point 0, which any private key multiplies to 0.
const lowOrder = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z"

func TestParse(t *testing.T) {
	good := newPerson(t).String()
	private := newPerson(t).identity.String()
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	const wrong = "invalid: 'public_key' is not an age public key: it must be one X25519 recipient, 'age1' and 58 more characters"
	const secret = "invalid: 'public_key' is a private key. Never send it to anybody: create a new key pair"
	flipped := []byte(good)
	if flipped[20]++; flipped[20] > 'z' || flipped[20] == '1' || flipped[20] == 'b' || flipped[20] == 'i' || flipped[20] == 'o' {
		flipped[20] = 'q'
	}
	if string(flipped) == good {
		flipped[20] = 'p'
	}
	for _, c := range []struct{ name, text, want string }{
		{"a recipient", good, ""},
		{"nothing", "", wrong},
		{"a number", "42", wrong},
		{"upper case", strings.ToUpper(good), wrong},
		{"mixed case", "Age1" + good[4:], wrong},
		{"a blank before", " " + good, wrong},
		{"a line end behind", good + "\n", wrong},
		{"two", good + "\n" + newPerson(t).String(), wrong},
		{"one character wrong", string(flipped), wrong},
		{"cut", good[:len(good)-1], wrong},
		{"longer", good + "q", wrong},
		{"a point of low order", lowOrder, wrong},
		{"post-quantum", hybrid.Recipient().String(), wrong},
		{"a plugin's", "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t", wrong},
		{"an SSH key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN a@b", wrong},
		{"half a megabyte", strings.Repeat("a", 1<<19), wrong},
		{"a private key", private, secret},
		{"a private key in lower case", strings.ToLower(private), secret},
		{"a key file", "# created: today\n# public key: " + good + "\n" + private + "\n", secret},
		{"a post-quantum private key", "AGE-SECRET-KEY-PQ-1" + strings.Repeat("Q", 58), secret},
	} {
		r, err := ParseRecipient("public_key", c.text)
		if c.want == "" {
			if err != nil || r.String() != c.text {
				t.Errorf("%s: %q, %v", c.name, r, err)
			}
			continue
		}
		if err == nil || err.Error() != c.want || !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestLowOrder checks that Seal refuses the point even if its spelling is accepted.
func TestLowOrder(t *testing.T) {
	r, err := ParseStored(lowOrder)
	if err != nil {
		t.Fatal(err)
	}
	if envelope, err := r.Seal([]byte("x")); err == nil || envelope != nil || !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Errorf("%d bytes, %v", len(envelope), err)
	}
}

// TestWrap checks that every envelope has a key of its own, which is why its nonce may be zero, and
// that age reads our stanzas as its own.
func TestWrap(t *testing.T) {
	p := newPerson(t)
	key := []byte("sixteen bytes...")
	seen := map[string]bool{}
	for range 3 {
		ours, err := stanzaRecipient(p.RecipientKey).Wrap(key)
		if err != nil {
			t.Fatal(err)
		}
		own, err := p.identity.Recipient().Wrap(key)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*age.Stanza{ours[0], own[0]} {
			if got, err := p.identity.Unwrap([]*age.Stanza{s}); err != nil || !bytes.Equal(got, key) {
				t.Errorf("%q, %v", got, err)
			}
			if seen[s.Args[0]] || seen[string(s.Body)] {
				t.Error("a key came twice")
			}
			seen[s.Args[0]], seen[string(s.Body)] = true, true
		}
		if len(ours) != 1 || ours[0].Type != own[0].Type || len(ours[0].Args) != len(own[0].Args) || len(ours[0].Args[0]) != len(own[0].Args[0]) || len(ours[0].Body) != len(own[0].Body) {
			t.Errorf("%+v, and of age %+v", ours, own)
		}
	}
}

func TestStored(t *testing.T) {
	p := newPerson(t)
	if r, err := ParseStored(p.String()); err != nil || r.String() != p.String() {
		t.Errorf("%q, %v", r, err)
	}
	if _, err := ParseStored("age1"); !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Errorf("%v", err)
	}
	var none RecipientKey
	if envelope, err := none.Seal(nil); !fault.Is(err, fault.TemporarilyUnavailable) || envelope != nil || none.String() != "" {
		t.Errorf("the zero Recipient sealed %d bytes, %v", len(envelope), err)
	}
	if m, err := none.SealMessage([]byte("a: b\r\n\r\nc")); !fault.Is(err, fault.TemporarilyUnavailable) || m.Envelope != nil {
		t.Errorf("the zero Recipient sealed %+v, %v", m, err)
	}
}

// TestSeal checks that sizes around a chunk's decrypt correctly, for the recipient alone, and that
// the envelope is not much longer.
func TestSeal(t *testing.T) {
	p, other := newPerson(t), newPerson(t)
	for _, size := range []int{0, 1, 2047, chunkSize - 1, chunkSize, chunkSize + 1, 2 * chunkSize, 3<<20 + 7} {
		plain := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		envelope, err := p.Seal(plain)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.open(t, envelope), plain) {
			t.Errorf("%d bytes came back as others", size)
		}
		if want := int(EnvelopeSize(int64(size))); len(envelope) != want || cap(envelope) > want+want/4+64 {
			t.Errorf("%d bytes take %d and not %d, in room for %d", size, len(envelope), want, cap(envelope))
		}
		if size > 16 && bytes.Contains(envelope, plain[:16]) {
			t.Errorf("%d bytes lie in the clear", size)
		}
		if _, err := age.Decrypt(bytes.NewReader(envelope), other.identity); err == nil {
			t.Error("another person opened it")
		}
	}
}

// mailOf has a file in each encoding, a truncated one and an enclosed message.
func mailOf(files ...string) []byte {
	var b strings.Builder
	b.WriteString("From: Ada <ada@corp.test>\r\nSubject: secret\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello")
	for i, f := range files {
		fmt.Fprintf(&b, "\r\n--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=f%d\r\n%s", i, f)
	}
	b.WriteString("\r\n--b--\r\n")
	return []byte(b.String())
}

// TestMoreFilesThanAreKept checks that envelopes and facts have the same numbers, from 1, whichever
// files of a message are stored.
func TestMoreFilesThanAreKept(t *testing.T) {
	p := newPerson(t)
	raw := mailOf()
	raw = raw[:len(raw)-len("--b--\r\n")]
	page := "\r\n--b\r\nContent-Type: text/html\r\n\r\n"
	var images string
	for i := range 300 {
		page += fmt.Sprintf("<img src=cid:%d>", i)
		images += fmt.Sprintf("\r\n--b\r\nContent-Type: image/png\r\nContent-ID: <%d>\r\n\r\nimage %d", i, i)
	}
	raw = append(raw, page+images+"\r\n--b\r\nContent-Type: application/pdf\r\n\r\ninvoice\r\n--b--\r\n"...)
	var doc message.ParsedMessage
	message.ParseFacts(&doc, raw)
	facts := UnencryptedFacts(&doc)
	m, err := p.SealMessage(raw)
	if err != nil || len(m.Files) != 10 || len(facts.Attachments) != 10 || facts.AttachmentsOmitted != 291 {
		t.Fatalf("%d files, facts %+v, %v", len(m.Files), facts, err)
	}
	for i, f := range m.Files {
		want := "invoice"
		if i > 0 {
			want = fmt.Sprintf("image %d", i-1)
		}
		if got := string(p.open(t, f.Envelope)); f.ID != i+1 || facts.Attachments[i].ID != i+1 || got != want || facts.Attachments[i].Size != int64(len(want)) {
			t.Errorf("file %d: %q, want %q, facts %+v", f.ID, got, want, facts.Attachments[i])
		}
	}
}

func TestMail(t *testing.T) {
	p := newPerson(t)
	raw := mailOf(
		"Content-Transfer-Encoding: base64\r\n\r\n"+base64.StdEncoding.EncodeToString([]byte("first file")),
		"Content-ID: <secret@corp.test>\r\n\r\nsecond, as it is",
		"Content-Transfer-Encoding: quoted-printable\r\n\r\nthi=72d",
		"Content-Transfer-Encoding: base64\r\n\r\n"+strings.Repeat("QUFB", 6<<18), // 4.5 MiB
		"Content-Transfer-Encoding: base64\r\n\r\n"+strings.Repeat("QUFB", 7<<18), // above the limit
		"Content-Transfer-Encoding: base64\r\n\r\n")
	before := bytes.Clone(raw)
	m, err := p.SealMessage(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, before) || !bytes.Equal(p.open(t, m.Envelope), raw) {
		t.Error("the envelope does not give the message back, or the message was changed")
	}
	want := map[int]string{1: "first file", 2: "second, as it is", 3: "third", 4: strings.Repeat("AAA", 6<<18), 6: ""}
	if len(m.Files) != len(want) {
		t.Errorf("%d files", len(m.Files))
	}
	for _, f := range m.Files {
		if got := string(p.open(t, f.Envelope)); got != want[f.ID] {
			t.Errorf("file %d: %d bytes, want %d", f.ID, len(got), len(want[f.ID]))
		}
	}
	facts := UnencryptedFacts(message.Parse(raw))
	if len(facts.Attachments) != 6 || facts.Attachments[1] != (message.Attachment{ID: 2, Filename: "encrypted-2.age", ContentType: MediaType, Size: 16}) || !facts.Attachments[4].Truncated {
		t.Errorf("%+v", facts.Attachments)
	}
	if facts.Attachments = nil; fmt.Sprintf("%+v", facts) != fmt.Sprintf("%+v", message.ParsedMessage{}) {
		t.Errorf("more is told: %+v", facts)
	}
}

// TestSizes checks that a message and its files take at most 1.1 times the message, plus the files,
// plus 1 KiB, as far as possible (ADR 0073).
func TestSizes(t *testing.T) {
	p := newPerson(t)
	for _, c := range []struct{ files, size, least int }{{0, 1, 0}, {1, 1, 0}, {4, 1, 0}, {4, 0, 0}, {10, 1200, 11_760}, {10, 300_000, 11_760}} {
		raw := mailOf(slices.Repeat([]string{"\r\n" + strings.Repeat("x", c.size)}, c.files)...)
		m, err := p.SealMessage(raw)
		if err != nil || len(m.Files) != c.files || len(raw) < c.least {
			t.Fatalf("%d files, %v", len(m.Files), err)
		}
		taken := len(m.Envelope)
		for _, f := range m.Files {
			taken += len(f.Envelope)
		}
		if limit := len(raw)*11/10 + c.files*c.size + 1024; taken > limit {
			t.Errorf("%d bytes with %d files of %d take %d, at most %d are allowed", len(raw), c.files, c.size, taken, limit)
		}
	}
}

// TestAge checks that Debian's age opens an envelope for a key of age-keygen.
func TestAge(t *testing.T) {
	age, keygen := testtools.ProgramPath(t, "age"), testtools.ProgramPath(t, "age-keygen")
	key := filepath.Join(t.TempDir(), "key.txt")
	if out, err := exec.CommandContext(t.Context(), keygen, "-o", key).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	public, err := exec.CommandContext(t.Context(), keygen, "-y", key).Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRecipient("public_key", strings.TrimSpace(string(public)))
	if err != nil {
		t.Fatal(err)
	}
	raw := mailOf("\r\nthe file")
	m, err := r.SealMessage(raw)
	if err != nil {
		t.Fatal(err)
	}
	for want, envelope := range map[string][]byte{string(raw): m.Envelope, "the file": m.Files[0].Envelope} {
		open := exec.CommandContext(t.Context(), age, "-d", "-i", key)
		open.Stdin, open.Stderr = bytes.NewReader(envelope), os.Stderr
		if got, err := open.Output(); err != nil || string(got) != want {
			t.Errorf("%v, %q", err, got)
		}
	}
}

// FuzzRecipient checks that any text is either refused, in an error that contains no part of it
// except by chance, or is a key in its canonical spelling that can be encrypted to.
func FuzzRecipient(f *testing.F) {
	p := newPerson(f)
	for _, seed := range []string{"", p.String(), strings.ToUpper(p.String()), p.identity.String(), lowOrder, "age1pq1", "age1\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecipient("public_key", text)
		if err != nil {
			if !fault.Is(err, fault.InvalidRequest) || len(text) > 8 && strings.Contains(err.Error(), text) && !strings.Contains("'public_key' is not an age public key: it must be one X25519 recipient, 'age1' and 58 more characters is a private key. Never send it to anybody: create a new key pair", text) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if r.String() != text {
			t.Errorf("%q is kept as %q", text, r)
		}
		if _, err := r.Seal([]byte("x")); err != nil {
			t.Errorf("%q was accepted: %v", text, err)
		}
	})
}

// FuzzSealedMail checks that a message and each of its files decrypt to the same bytes.
func FuzzSealedMail(f *testing.F) {
	p := newPerson(f)
	for _, seed := range [][]byte{nil, []byte("\r\n"), mailOf("\r\na"), mailOf("Content-Transfer-Encoding: base64\r\n\r\nYQ=\r\n=\r\nYg=="), mailOf("Content-Transfer-Encoding: quoted-printable\r\n\r\na=\r\n=zz")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := p.SealMessage(raw)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.open(t, m.Envelope), raw) {
			t.Error("the message came back as another")
		}
		files := map[int][]byte{}
		for _, file := range m.Files {
			files[file.ID] = file.Envelope
		}
		for _, a := range message.Parse(raw).Attachments {
			want, kept := message.AttachmentBytes(raw, a.ID)
			if envelope, sealed := files[a.ID]; sealed != kept {
				t.Errorf("file %d: sealed %v, kept %v", a.ID, sealed, kept)
			} else if sealed && !bytes.Equal(p.open(t, envelope), want) {
				t.Errorf("file %d came back as another", a.ID)
			}
			delete(files, a.ID)
		}
		if len(files) > 0 {
			t.Errorf("%d files that the message does not have", len(files))
		}
	})
}
