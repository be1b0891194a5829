package persist

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
	"inboxd/persist/disk"
)

// TestRepair checks that the copy of a damaged folder has everything except what was hit, which is
// shown as damaged. The original folder is unchanged.
func TestRepair(t *testing.T) {
	fs := vfs.NewMem()
	s := must1(Open(folder, options(fs)))(t)
	for id := int64(1); id <= 60; id++ {
		body := strings.Repeat(fmt.Sprint(id), 3000)
		if id == 7 || id == 8 {
			body = strings.Repeat(fmt.Sprint(id), blobOver+1)
		}
		r := mail(harmed, id, body)
		r.Profile.DueAt, r.DueTo = at(1), at(1)
		must(t, s.CommitInbox(r))
		if id == 30 {
			must(t, s.db.Flush())
		}
	}
	must(t, s.db.Flush())
	encrypted := must1(s.EncryptSecret("x", []byte("secret")))(t)
	lost := must1(s.blobFiles.findBlob(blobKey(nil, harmed, 7, blobRaw)))(t).BlobName.fileName()
	closeStore(t, s)
	flip := func(path string) {
		data := must1(disk.ReadFile(fs, path))(t)
		data[len(data)/3] ^= 4
		must(t, rewrite(fs, path, data))
	}
	flip(folder + "/" + disk.BlobsName + "/" + lost)
	for _, name := range must1(fs.List(folder + "/" + disk.EngineName))(t) {
		if strings.HasSuffix(name, ".blob") {
			flip(folder + "/" + disk.EngineName + "/" + name)
			break
		}
	}
	before := problemsOf(t, fs, folder)
	var found []string
	sum, err := RepairFolder(folder, "/repaired", options(fs), func(problem string) { found = append(found, problem) })
	must(t, err)
	reported := found[min(len(before), len(found)):]
	if len(before) < 2 || !slices.Equal(found[:min(len(before), len(found))], before) || !slices.Equal(problemsOf(t, fs, folder), before) {
		t.Errorf("a check finds %q, a repair %q", before, found)
	}
	if got := problemsOf(t, fs, "/repaired"); len(got) > 0 {
		t.Errorf("the copy: %q", got)
	}
	if sum.MessageCount != 60 {
		t.Errorf("read %+v", sum)
	}
	copied := must1(Open("/repaired", options(fs)))(t)
	defer closeStore(t, copied)
	if got, err := copied.Decrypt("x", encrypted); err != nil || string(got) != "secret" {
		t.Errorf("the key is lost: %v", err)
	}
	st := must1(copied.LoadInbox(harmed))(t)
	whole := 0
	for _, m := range st.Messages {
		raw, err := copied.ReadRaw(harmed, m.ID)
		if err == nil && len(raw) > 0 {
			whole++
		}
		if m.ID == 8 && len(raw) != blobOver+1 || m.ID == 7 && raw != nil {
			t.Errorf("message %d has %d bytes: %v", m.ID, len(raw), err)
		}
	}
	if len(st.Messages) != 60 || whole < 5 || whole > 59 {
		t.Errorf("%d messages, %d of them whole", len(st.Messages), whole)
	}
	if len(reported) != 1 || !strings.Contains(reported[0], fmt.Sprintf("the inbox %s has lost the bytes or the parsed content of %d messages", harmed, 60-whole)) || !strings.Contains(reported[0], "7") {
		t.Errorf("of %d messages that lack something the repair tells %q", 60-whole, reported)
	}
	must(t, copied.BackupTo(t.Context(), "/backup of it"))
	if got := problemsOf(t, fs, "/backup of it"); len(got) > 0 {
		t.Errorf("a backup of the copy: %q", got)
	}
	if _, err := RepairFolder(folder, "/repaired", options(fs), nil); !errors.As(err, new(disk.UnusableFolder)) {
		t.Errorf("over a folder: %v", err)
	}
}

// TestRepairOfLostRows checks that the parts of a message without its row are left out and
// reported, and that an inbox is due as its row says. The copy is sound.
func TestRepairOfLostRows(t *testing.T) {
	fs := vfs.NewMem()
	s := must1(Open(folder, options(fs)))(t)
	for id := int64(1); id <= 4; id++ {
		r := mail(harmed, id, "x")
		r.Profile.DueAt = at(1)
		must(t, s.CommitInbox(r))
	}
	h := harm{fs, s}
	must(t, errors.Join(h.delete(appendMessage(nil, kindInbox, harmed, 2)), h.delete(appendMessage(nil, kindInbox, harmed, 3))))
	closeStore(t, s)
	var found []string
	must1(RepairFolder(folder, "/repaired", options(fs), func(problem string) { found = append(found, problem) }))(t)
	if want := "the inbox a@example.org has lost 2 messages whose rows cannot be read: 2-3"; found[len(found)-1] != want {
		t.Errorf("told %q, want %q at the end", found, want)
	}
	if got := problemsOf(t, fs, "/repaired"); len(got) > 0 {
		t.Errorf("the copy: %q", got)
	}
}

// TestRepairWithoutTheKey checks that encrypted rows are kept for a key from a backup, and that a
// damaged key is not copied. If nothing is encrypted, a start creates another key.
func TestRepairWithoutTheKey(t *testing.T) {
	for _, needed := range []bool{true, false} {
		for _, missing := range []bool{true, false} {
			fs := vfs.NewMem()
			s := must1(Open(folder, options(fs)))(t)
			must(t, s.CommitInbox(mail(harmed, 1, "x")))
			encrypted := must1(s.EncryptSecret("dkim s x.test", []byte("secret")))(t)
			if needed {
				must(t, s.CommitDomain(&domain.Rows{Name: "x.test", PutState: &domain.State{Name: "x.test", Keys: []domain.DKIMKey{{Selector: "s", Encrypted: encrypted}}}}))
			}
			closeStore(t, s)
			key := must1(disk.ReadFile(fs, folder+"/"+disk.SecretName))(t)
			if must(t, fs.Remove(folder+"/"+disk.SecretName)); !missing {
				must(t, rewrite(fs, folder+"/"+disk.SecretName, key[1:]))
			}
			sum, err := RepairFolder(folder, "/repaired", options(fs), func(string) {})
			must(t, err)
			_, there := fs.Stat("/repaired/" + disk.SecretName)
			if sum.NeedsKey != needed || there == nil {
				t.Errorf("needed %v, missing %v: %+v, a key file %v", needed, missing, sum, there == nil)
			}
			if needed {
				must(t, rewrite(fs, "/repaired/"+disk.SecretName, key))
			}
			copied := must1(Open("/repaired", options(fs)))(t)
			if got, err := copied.Decrypt("dkim s x.test", encrypted); needed && (err != nil || string(got) != "secret") {
				t.Errorf("needed %v, missing %v: %v", needed, missing, err)
			}
			if found := must1(copied.hasKey(appendText(nil, kindDomain, "x.test")))(t); found != needed {
				t.Errorf("needed %v, missing %v: the domain is there: %v", needed, missing, found)
			}
			closeStore(t, copied)
		}
	}
}

// TestRepairKeepsWebhooksWithoutTheKey checks that webhook rows are readable again with the key
// from a backup. A check and a repair create no other key, even if only webhooks are encrypted.
func TestRepairKeepsWebhooksWithoutTheKey(t *testing.T) {
	fs := vfs.NewMem()
	s := must1(Open(folder, options(fs)))(t)
	must(t, s.CommitInbox(mail(harmed, 1, "x")))
	id := accountID(1)
	must(t, s.CommitAccount(&account.Rows{ID: id, Profile: &account.Profile{ID: id, CreatedAt: at(1), LastWebhook: 1}, PutWebhooks: []*account.Webhook{hook(1)}}))
	closeStore(t, s)
	key := must1(disk.ReadFile(fs, folder+"/"+disk.SecretName))(t)
	must(t, fs.Remove(folder+"/"+disk.SecretName))
	must1(RepairFolder(folder, "/repaired", options(fs), func(string) {}))(t)
	if _, err := fs.Stat(folder + "/" + disk.SecretName); err == nil {
		t.Error("a check made a key in the folder")
	}
	must(t, rewrite(fs, "/repaired/"+disk.SecretName, key))
	copied := must1(Open("/repaired", options(fs)))(t)
	defer closeStore(t, copied)
	if got, err := copied.Webhooks(id); err != nil || len(got) != 1 || got[0] != *hook(1) {
		t.Errorf("webhooks %+v, %v", got, err)
	}
}

// TestRepairOfLostContent checks that a message without its parsed content is reported, kept and
// recorded.
func TestRepairOfLostContent(t *testing.T) {
	fs := vfs.NewMem()
	s := must1(Open(folder, options(fs)))(t)
	h := harm{fs, s}
	for id := int64(1); id <= 4; id++ {
		r := mail(harmed, id, "x")
		r.Profile.DueAt, r.DueTo = at(1), at(1)
		must(t, s.CommitInbox(r))
		if id != 3 {
			must(t, h.delete(appendMessage(nil, kindContent, harmed, id)))
		}
	}
	closeStore(t, s)
	var found []string
	must1(RepairFolder(folder, "/repaired", options(fs), func(problem string) { found = append(found, problem) }))(t)
	want := "the inbox a@example.org has lost the bytes or the parsed content of 3 messages; they are kept and shown as damaged: 1-2, 4"
	if len(found) == 0 || found[len(found)-1] != want {
		t.Errorf("told %q, want %q at the end", found, want)
	}
	sum, err := CheckFolder("/repaired", options(fs), func(problem string) { t.Error(problem) })
	if err != nil || sum.MessageCount != 4 || sum.LostMessages != 3 {
		t.Errorf("the copy: %+v, %v", sum, err)
	}
}

// TestRepairOntoAFullDisk makes each write of the copy the first that fails for lack of space. The
// repair ends with one error, and no start accepts the incomplete copy.
func TestRepairOntoAFullDisk(t *testing.T) {
	fs := inTables(t, 24)
	tried := 0
	for room := 0; ; room += 1 + room/8 {
		left := atomic.Int64{}
		left.Store(int64(room))
		full := errorfs.Wrap(fs.CrashClone(vfs.CrashCloneCfg{}), errorfs.InjectorFunc(func(op errorfs.Op) error {
			grows := op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpMkdirAll || op.Kind == errorfs.OpFileSync
			if strings.HasPrefix(op.Path, "/repaired") && grows && left.Add(-1) < 0 {
				return syscall.ENOSPC
			}
			return nil
		}))
		_, err := RepairFolder(folder, "/repaired", options(full), func(string) {})
		if err == nil {
			break
		}
		tried++
		if !errors.As(err, new(RepairFailure)) || !strings.Contains(err.Error(), "/repaired cannot be written: its disk is full") || !strings.Contains(err.Error(), "incomplete") {
			t.Fatalf("after %d writes: %v", room, err)
		}
		if _, err := Open("/repaired", options(full)); err == nil {
			t.Fatalf("after %d writes a start takes the copy", room)
		}
	}
	if tried < 10 {
		t.Errorf("%d writes failed", tried)
	}
}

// TestRepairOfALostEnd covers a log that has lost its end. A start is refused, a check reads the
// rest, and a repair makes a folder of it that reuses no id.
func TestRepairOfALostEnd(t *testing.T) {
	fs := vfs.NewMem()
	s := must1(Open(folder, options(fs)))(t)
	for id := int64(1); id <= 20; id++ {
		r := mail(harmed, id, "x")
		r.Profile.DueAt, r.DueTo = at(1), at(1)
		must(t, s.CommitInbox(r))
		if id == 10 {
			must(t, s.db.Flush())
		}
	}
	closeStore(t, s)
	note := must1(disk.ReadFile(fs, folder+"/"+disk.HighWaterName))(t)
	must(t, rewrite(fs, folder+"/"+disk.HighWaterName, note[1:]))
	if got := problemsOf(t, fs, folder); len(got) != 1 || !strings.HasSuffix(got[0], "its content is not what was written") {
		t.Errorf("of a damaged note: %q", got)
	}
	must(t, rewrite(fs, folder+"/"+disk.HighWaterName, note))
	cut(fs, newestLog(t, fs), 0)
	var found []string
	sum, err := RepairFolder(folder, "/repaired", options(fs), func(problem string) { found = append(found, problem) })
	must(t, err)
	if len(found) != 1 || !strings.Contains(found[0], "its journal ends at commit") || sum.MessageCount != 10 {
		t.Errorf("read %+v, found %q", sum, found)
	}
	copied := must1(Open("/repaired", options(fs)))(t)
	defer closeStore(t, copied)
	st := must1(copied.LoadInbox(harmed))(t)
	if int64(len(st.Messages)) != sum.MessageCount || copied.folder.MinimumID() <= 20 {
		t.Errorf("%d messages of %d, ids above %d", len(st.Messages), sum.MessageCount, copied.folder.MinimumID())
	}
}
