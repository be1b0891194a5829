package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"inboxd/bench/drive"
)

// reading is one request, asked for again and again on connections that stay.
type reading struct {
	bed      *Bed
	conns    int
	duration time.Duration // per target, over all rounds
	rounds   int
}

// compare lets the server and a constant answer of the same size take turns, and returns the ETag of the first answer.
func (r reading) compare(ctx context.Context, name string, request []byte, status int) (etag string, err error) {
	answer, size, err := r.firstAnswer(ctx, request, status)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	constant, addr, err := startConstant(ctx, r.bed.dir, status, size)
	if err != nil {
		return "", err
	}
	defer constant.Stop()
	l := drive.HTTPLoad{Requests: [][]byte{request}, Status: status, Conns: r.conns, Duration: r.duration / time.Duration(r.rounds),
		Check: sameSize(answer, status)}
	var sides []drive.Side
	for _, t := range []drive.Side{{Target: "inboxd", Proc: r.bed.Server.proc}, {Target: "constant", Proc: constant}} {
		side := l
		side.Addr = r.bed.Server.HTTP
		if t.Proc == constant {
			side.Addr = addr
			side.Check = func(_ int, a drive.HTTPAnswer) error { return checkSize(size, sizeOfAnswer(a, status)) }
		}
		t.Run = side.Run
		sides = append(sides, t)
		if _, err := side.Run(ctx, 0); err != nil {
			return "", fmt.Errorf("warm-up of %s: %w", t.Target, err)
		}
	}
	results, err := drive.Alternate(ctx, name, r.rounds, sides...)
	if err == nil {
		r.bed.Report.Compare(results)
	}
	return strings.Clone(answer.Field("etag")), err
}

// sameSize wants answers as long as the first, but for their ids, which grow with their number.
func sameSize(first drive.HTTPAnswer, status int) func(int, drive.HTTPAnswer) error {
	steady := func(a drive.HTTPAnswer) int {
		if status == http.StatusNotModified {
			return len(a.Head) - len(a.Field("x-request-id"))
		}
		return len(a.Body)
	}
	want := steady(first)
	return func(_ int, a drive.HTTPAnswer) error { return checkSize(want, steady(a)) }
}

func sizeOfAnswer(a drive.HTTPAnswer, status int) int {
	if status == http.StatusNotModified {
		return len(a.Head)
	}
	return len(a.Body)
}

// firstAnswer is what the server says when nobody else asks.
func (r reading) firstAnswer(ctx context.Context, request []byte, status int) (answer drive.HTTPAnswer, size int, err error) {
	conn, err := drive.DialHTTP(ctx, r.bed.Server.HTTP)
	if err != nil {
		return answer, 0, err
	}
	defer conn.Close()
	defer drive.InterruptOn(ctx, conn.NC)()
	for range 2 { // the second time from what the first left
		if answer, err = conn.Do(request); err != nil || answer.Status != status {
			return answer, 0, errors.Join(err, fmt.Errorf("status %d: %s", answer.Status, drive.DetailOf(answer.Body)))
		}
	}
	return answer, sizeOfAnswer(answer, status), nil
}
