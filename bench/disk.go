package bench

import (
	"context"
	"os"
	"syscall"
	"time"

	"inboxd/bench/drive"
)

// probeRecord is what one accepted mail costs a log at least, in bytes.
const probeRecord = 2560

// diskProbe measures what the disk itself can promise: append one record, fdatasync, one
// thread, in the folder that holds the data folder. (The data of an attached server is not
// ours to write to; --dir says where its disk is.)
type diskProbe struct {
	file   *os.File
	record []byte
}

func openProbe(dir string) (*diskProbe, error) {
	f, err := os.CreateTemp(dir, "fdatasync-")
	if err != nil {
		return nil, err
	}
	return &diskProbe{f, make([]byte, probeRecord)}, nil
}

// Close removes the file.
func (p *diskProbe) Close() error {
	p.file.Close()
	return os.Remove(p.file.Name())
}

// once appends and syncs one record.
func (p *diskProbe) once() (time.Duration, error) {
	start := time.Now()
	if _, err := p.file.Write(p.record); err != nil {
		return 0, err
	}
	err := syscall.Fdatasync(int(p.file.Fd()))
	return time.Since(start), err
}

// run probes for a time.
func (p *diskProbe) run(ctx context.Context, d time.Duration) (drive.Round, error) {
	r := drive.NewRound()
	for start := time.Now(); r.Elapsed < d && ctx.Err() == nil; r.Elapsed = time.Since(start) {
		took, err := p.once()
		if err != nil {
			return r, err
		}
		r.Record(took)
	}
	return r, context.Cause(ctx)
}
