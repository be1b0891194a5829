package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"inboxd/bench/drive"
	"inboxd/bench/report"
)

// OTPOptions name the messages. The tags are for the command line.
type OTPOptions struct {
	Dir string `arg:"" help:"Folder of messages with expected.tsv: the columns file and code (NULL for none), and, if there are, accept (other forms that are right, parted by |), category, and doubtful (anything but -: scored apart)." type:"existingdir"`
}

// expectation is one row of expected.tsv.
type expectation struct {
	file, code, category string
	accept               []string
	doubtful             bool
}

// OTP delivers every message of a folder by SMTP and reads otp_code back by the API. The figures
// are precision (codes given that are right) and recall (codes wanted that are given).
func OTP(ctx context.Context, bed *Bed, opts OTPOptions) error {
	rows, err := readExpectations(filepath.Join(opts.Dir, "expected.tsv"))
	if err != nil {
		return err
	}
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys[:1], 1+len(rows)/perInbox)
	if err != nil {
		return err
	}
	run := otpRun{dir: opts.Dir, host: bed.Server.HTTP}
	if run.mail, err = drive.DialSMTP(ctx, bed.Server.SMTP); err != nil {
		return err
	}
	defer run.mail.Close()
	start := time.Now()
	for i, row := range rows {
		if err := run.one(ctx, row, inboxes[i/perInbox]); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", row.file, err), context.Cause(ctx))
		}
	}
	bed.Report.Load["messages"] = len(rows)
	run.report(bed.Report, len(rows), time.Since(start))
	return nil
}

// perInbox keeps an inbox below its quota.
const perInbox = 5_000

// otpRun owns one message session.
type otpRun struct {
	dir  string
	mail *drive.SMTPConn
	host string // of the API
	last int64  // id of the newest message that was read
	read int64

	codes  []report.Codes
	misses []report.Miss
}

// one delivers a message and counts the response.
func (r *otpRun) one(ctx context.Context, row expectation, to Inbox) error {
	raw, err := os.ReadFile(filepath.Join(r.dir, row.file))
	if err != nil {
		return err
	}
	if _, err := r.mail.Send(to.Address, onTheWire(raw)); err != nil {
		return err
	}
	email, err := to.latest(ctx, r.host)
	if err != nil {
		return err
	}
	if email.ID == 0 || email.ID == r.last {
		return errors.New("was accepted and is not there")
	}
	r.last = email.ID
	r.read++
	r.count(row, email.CodeIn())
	return nil
}

// onTheWire ends all lines by CRLF, stuffs dots, and adds the final one (RFC 5321 section 4.5.2).
func onTheWire(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	raw = bytes.TrimSuffix(bytes.ReplaceAll(raw, []byte("\r"), []byte("\n")), []byte("\n"))
	out := make([]byte, 0, len(raw)+len(raw)/32+8)
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		if bytes.HasPrefix(line, []byte(".")) {
			out = append(out, '.')
		}
		out = append(append(out, line...), "\r\n"...)
	}
	return append(out, ".\r\n"...)
}

const (
	allMessages      = "all"
	doubtfulMessages = "doubtful"
)

func (r *otpRun) count(row expectation, got string) {
	categories := []string{row.category, allMessages}
	if row.doubtful {
		categories = []string{doubtfulMessages}
	} else if row.category == "" {
		categories = categories[1:]
	}
	for _, c := range categories {
		i := slices.IndexFunc(r.codes, func(d report.Codes) bool { return d.Category == c })
		if i < 0 {
			i = len(r.codes)
			r.codes = append(r.codes, report.Codes{Category: c})
		}
		add(&r.codes[i], row, got)
	}
	if !row.right(got) {
		r.misses = append(r.misses, report.Miss{File: row.file, Want: row.code, Got: got})
	}
}

func add(c *report.Codes, row expectation, got string) {
	c.Messages++
	if row.code != "" {
		c.Wanted++
	}
	switch {
	case row.right(got):
		c.Right++
		if got != "" {
			c.Found++
		}
	case got != "":
		c.Wrong++
	}
	c.Precision, c.Recall = ratioOrOne(c.Found, c.Found+c.Wrong), ratioOrOne(c.Found, c.Wanted)
}

// ratioOrOne gives part of whole; nothing of nothing is all of it.
func ratioOrOne(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

func (e *expectation) right(got string) bool {
	return got == e.code || got != "" && slices.Contains(e.accept, got)
}

func (r *otpRun) report(out *report.Report, messages int, took time.Duration) {
	slices.SortFunc(r.codes, func(a, b report.Codes) int { return strings.Compare(sortKey(a), sortKey(b)) })
	out.Codes, out.Misses = r.codes, r.misses
	out.Results = append(out.Results, drive.Result{Name: "messages in and read, one at a time", Target: "inboxd",
		Count: r.read, Seconds: took.Seconds(), PerSecond: float64(r.read) / took.Seconds()})
	out.Verify("messages read", int64(messages), r.read)
}

// sortKey puts the sums behind the categories.
func sortKey(c report.Codes) string {
	if c.Category == allMessages || c.Category == doubtfulMessages {
		return "\xff" + c.Category
	}
	return c.Category
}

// readExpectations reads a table whose first line names the columns.
func readExpectations(path string) (rows []expectation, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head, body, _ := strings.Cut(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n")
	names := strings.Split(head, "\t")
	for line := range strings.Lines(body) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		cell := func(name string) string {
			if i := slices.Index(names, name); i >= 0 && i < len(cells) {
				return cells[i]
			}
			return ""
		}
		e := expectation{file: cell("file"), code: cell("code"), category: cell("category"), accept: strings.Split(cell("accept"), "|")}
		if d := cell("doubtful"); d != "" && d != "-" {
			e.doubtful = true
		}
		if e.code == "NULL" {
			e.code, e.accept = "", nil
		}
		if e.file == "" || e.file != filepath.Base(e.file) {
			return nil, fmt.Errorf("%s: row %q names no file of the folder", path, line)
		}
		rows = append(rows, e)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no rows", path)
	}
	return rows, nil
}
