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

// compare lets the server and a constant response of size take turns at requests. Responses of the
// server are right when check says so.
func (r reading) compare(ctx context.Context, name string, requests [][]byte, status, size int,
	check func(request int, response drive.HTTPResponse) error) error {
	constant, addr, err := startConstant(ctx, r.bed.dir, status, size)
	if err != nil {
		return err
	}
	defer constant.Stop()
	sameSize := func(_ int, a drive.HTTPResponse) error { return checkSize(size, sizeOf(a, status)) }
	server := r.bed.Server
	l := drive.HTTPLoad{Requests: requests, Status: status, Conns: r.conns, Rate: r.rate}
	var sides []drive.Side
	for _, t := range []struct {
		name, addr string
		proc       *drive.Process
		check      func(int, drive.HTTPResponse) error
	}{{"inboxd", server.HTTP, server.Proc, check}, {"constant", addr, constant, sameSize}} {
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

// one compares one request, whose responses must be as long as the first but for their ids, which
// grow with their number. It returns the first response's ETag.
func (r reading) one(ctx context.Context, name string, request []byte, status int) (etag string, err error) {
	first, err := r.firstResponse(ctx, request, status)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	steady := func(a drive.HTTPResponse) int { return sizeOf(a, status) - len(a.Field("x-request-id")) }
	if status != http.StatusNotModified {
		steady = func(a drive.HTTPResponse) int { return len(a.Body) }
	}
	want := steady(first)
	err = r.compare(ctx, name, [][]byte{request}, status, sizeOf(first, status),
		func(_ int, a drive.HTTPResponse) error { return checkSize(want, steady(a)) })
	return strings.Clone(first.Field("etag")), err
}

// firstResponse is the response to a single client.
func (r reading) firstResponse(ctx context.Context, request []byte, status int) (response drive.HTTPResponse, err error) {
	conn, err := drive.DialHTTP(ctx, r.bed.Server.HTTP)
	if err != nil {
		return response, err
	}
	defer conn.Close()
	for range 2 { // the second time from what the first left
		if response, err = conn.Do(request); err != nil || response.Status != status {
			return response, errors.Join(err, fmt.Errorf("status %d: %s", response.Status, drive.DetailOf(response.Body)))
		}
	}
	return response, nil
}

// sizeOf a response is what the constant one must have too: its body, or its head where there is no
// body.
func sizeOf(a drive.HTTPResponse, status int) int {
	if status == http.StatusNotModified {
		return len(a.Head)
	}
	return len(a.Body)
}

func checkSize(want, got int) error {
	if got != want {
		return fmt.Errorf("the response has %d bytes, want %d", got, want)
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
