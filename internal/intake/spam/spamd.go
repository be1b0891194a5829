package spam

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"

	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
)

// spamd implements SPAMC/1.5, SpamAssassin's spamd/PROTOCOL. REPORT is the only command that
// returns each rule's weight, rounded for display. The envelope is in the message's own Return-Path
// and Received lines.
type spamd struct{ address string }

func (s spamd) judgeMessage(ctx context.Context, _ ingest.Envelope, raw []byte) (*inbox.SpamVerdict, error) {
	conn, err := dialer.DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	request := net.Buffers{fmt.Appendf(nil, "REPORT SPAMC/1.5\r\nContent-length: %d\r\n\r\n", len(raw)), raw}
	if _, err := request.WriteTo(conn); err != nil {
		return nil, err
	}
	if half, ok := conn.(*net.TCPConn); ok {
		if err := half.CloseWrite(); err != nil {
			return nil, err
		}
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer))
	if err != nil {
		return nil, err
	}
	return readSpamd(answer)
}

var errSpamd = errors.New("the spamd response cannot be read")

// readSpamd parses a response: a status line, header lines, and the report.
func readSpamd(answer []byte) (*inbox.SpamVerdict, error) {
	r := textproto.NewReader(bufio.NewReader(bytes.NewReader(answer)))
	status, err := r.ReadLine()
	if err != nil || !strings.HasPrefix(status, "SPAMD/") {
		return nil, errSpamd
	}
	if words := strings.Fields(status); len(words) < 2 || words[1] != "0" {
		return nil, fmt.Errorf("spamd responded with %q", truncateText(status, maxName))
	}
	header, err := r.ReadMIMEHeader()
	if err != nil {
		return nil, errSpamd
	}
	verdict, numbers, _ := strings.Cut(header.Get("Spam"), ";")
	score, required, _ := strings.Cut(numbers, "/")
	v := &inbox.SpamVerdict{IsSpam: strings.TrimSpace(verdict) == "True" || strings.TrimSpace(verdict) == "Yes"}
	var ok, ok2 bool
	v.Score, ok = parseNumber(score)
	v.RequiredScore, ok2 = parseNumber(required)
	if !ok || !ok2 {
		return nil, errSpamd
	}
	report, err := io.ReadAll(r.R)
	if err != nil {
		return nil, errSpamd
	}
	v.Rules = readReport(string(report))
	byWeight(v.Rules)
	return v, nil
}

// parseNumber parses a finite number; minus zero becomes zero.
func parseNumber(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f + 0, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// reportRule is a line of the table: weight in the first columns, name, description. Continuation
// lines of a description are indented far to the right.
var reportRule = regexp.MustCompile(`^ {0,3}(-?[0-9]+(?:\.[0-9]+)?) ([A-Z_][A-Z0-9_]*)(?: +(.*))?$`)

// readReport parses the table at the end of the report. The preview of the message above it may
// contain a forged table: the last one counts.
func readReport(report string) []inbox.SpamRule {
	lines := strings.Split(report, "\n")
	begin := len(lines)
	for i, line := range lines {
		if strings.HasPrefix(line, "---- ----------------------") {
			begin = i + 1
		}
	}
	var rules []inbox.SpamRule
	for _, line := range lines[begin:] {
		m := reportRule.FindStringSubmatch(strings.TrimRight(line, "\r "))
		if m == nil {
			continue
		}
		if weight, ok := parseNumber(m[1]); ok {
			rules = append(rules, inbox.SpamRule{Name: m[2], Weight: weight, Description: m[3]})
		}
	}
	return rules
}
