package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"inboxd/bench/drive"
)

// reading is how requests are repeated on connections that stay.
type reading struct {
	bed      *Bed
	conns    int
	duration time.Duration // per target, over all rounds
	rounds   int
	rate     float64 // a second; zero is as many as possible
}

// warmUp bounds the turn before the first that counts: connections, caches, heap size.
const warmUp = time.Second

// compare lets the server and a constant answer of size take turns at requests. Answers of the
// server are right when check says so.
func (r reading) compare(ctx context.Context, name string, requests [][]byte, status, size int,
	check func(request int, answer drive.HTTPAnswer) error) error {
	constant, addr, err := startConstant(ctx, r.bed.dir, status, size)
	if err != nil {
		return err
	}
	defer constant.Stop()
	sameSize := func(_ int, a drive.HTTPAnswer) error { return checkSize(size, sizeOf(a, status)) }
	server := r.bed.Server
	l := drive.HTTPLoad{Requests: requests, Status: status, Conns: r.conns, Rate: r.rate}
	var sides []drive.Side
	for _, t := range []struct {
		name, addr string
		proc       *drive.Process
		check      func(int, drive.HTTPAnswer) error
	}{{"inboxd", server.HTTP, server.proc, check}, {"constant", addr, constant, sameSize}} {
		side := l
		side.Addr, side.Check = t.addr, t.check
		side.Duration = min(r.duration/time.Duration(r.rounds), warmUp)
		if _, err := side.Run(ctx, 0); err != nil {
			return fmt.Errorf("warm-up of %s: %w", t.name, err)
		}
		side.Duration = r.duration / time.Duration(r.rounds)
		sides = append(sides, drive.Side{Target: t.name, Run: side.Run, Proc: t.proc})
	}
	results, err := drive.Alternate(ctx, name, r.rounds, sides...)
	if err == nil {
		r.bed.Report.Compare(results)
	}
	return err
}

// one compares one request, whose answers must be as long as the first but for their ids, which
// grow with their number. It returns the first answer's ETag.
func (r reading) one(ctx context.Context, name string, request []byte, status int) (etag string, err error) {
	first, err := r.firstAnswer(ctx, request, status)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	steady := func(a drive.HTTPAnswer) int { return sizeOf(a, status) - len(a.Field("x-request-id")) }
	if status != http.StatusNotModified {
		steady = func(a drive.HTTPAnswer) int { return len(a.Body) }
	}
	want := steady(first)
	err = r.compare(ctx, name, [][]byte{request}, status, sizeOf(first, status),
		func(_ int, a drive.HTTPAnswer) error { return checkSize(want, steady(a)) })
	return strings.Clone(first.Field("etag")), err
}

// firstAnswer is what the server says when nobody else asks.
func (r reading) firstAnswer(ctx context.Context, request []byte, status int) (answer drive.HTTPAnswer, err error) {
	conn, err := drive.DialHTTP(ctx, r.bed.Server.HTTP)
	if err != nil {
		return answer, err
	}
	defer conn.Close()
	defer drive.InterruptOn(ctx, conn.NC)()
	for range 2 { // the second time from what the first left
		if answer, err = conn.Do(request); err != nil || answer.Status != status {
			return answer, errors.Join(err, fmt.Errorf("status %d: %s", answer.Status, drive.DetailOf(answer.Body)))
		}
	}
	return answer, nil
}

// sizeOf an answer is what the constant one must have too: its body, or its head where there is no
// body.
func sizeOf(a drive.HTTPAnswer, status int) int {
	if status == http.StatusNotModified {
		return len(a.Head)
	}
	return len(a.Body)
}

func checkSize(want, got int) error {
	if got != want {
		return fmt.Errorf("the answer has %d bytes, want %d", got, want)
	}
	return nil
}

// startConstant runs this program again as the constant server.
func startConstant(ctx context.Context, dir string, status, size int) (*drive.Process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, addrs, err := drive.StartProcess(ctx, "constant", filepath.Join(dir, "constant.log"),
		self, "constant", "--http", net.JoinHostPort("127.0.0.1", "0"), "--status", strconv.Itoa(status), "--size", strconv.Itoa(size))
	return p, addrs["http"], err
}
