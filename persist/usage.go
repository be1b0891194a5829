package persist

import (
	"fmt"

	"inboxd/internal/account"
)

// The integer keys of this record are on disk: append only; never reorder or reuse.
type usageRecord struct {
	Day   int64 `cbor:"1,keyasint,omitempty"`
	Sends int64 `cbor:"2,keyasint,omitempty"`
}

func loadUsage(st *account.State, suffix, value []byte) error {
	if len(suffix) != 1 || suffix[0] != partUsage {
		return fmt.Errorf("unknown row %x", suffix)
	}
	var r usageRecord
	err := decode(value, &r)
	st.Sends = account.Sends{Day: r.Day, Count: r.Sends}
	return err
}

// putUsage writes the day's count. It may go without a sync: a mail is committed behind its
// count to the same log, so whatever of the log a crash leaves counts every mail it holds.
func (w *writer) putUsage(r *account.Rows) {
	if r.Sends != nil {
		w.put(appendPart(nil, r.ID, partUsage), &usageRecord{r.Sends.Day, r.Sends.Count})
	}
}
