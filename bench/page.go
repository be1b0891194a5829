package bench

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"time"

	"inboxd/bench/drive"
)

// PageOptions shape the load of the page. The tags are for the command line.
type PageOptions struct {
	Connections int           `help:"Keep-alive connections." default:"8" least:"1"`
	Duration    time.Duration `help:"Measured time per target, over all rounds." default:"6s" least:"1ms"`
	Rounds      int           `help:"Turns each target gets." default:"5" least:"1"`
}

var pageScript = regexp.MustCompile(`/assets/app\.[^"]+\.js`)

// Page compares the page, what a browser gets that has it already, and its script with constant answers of their sizes.
func Page(ctx context.Context, bed *Bed, opts PageOptions) error {
	host := bed.Server.HTTP
	r := reading{bed: bed, conns: opts.Connections, duration: opts.Duration, rounds: opts.Rounds}
	whole := drive.BuildRequest("GET", "/", host, "", nil)
	answer, err := r.firstAnswer(ctx, whole, http.StatusOK)
	if err != nil {
		return err
	}
	script := string(pageScript.Find(answer.Body))
	if script == "" {
		return errors.New("the page names no script")
	}
	etag, err := r.one(ctx, "GET /", whole, http.StatusOK)
	if err != nil {
		return err
	}
	if _, err = r.one(ctx, "GET /, unchanged", drive.BuildRequest("GET", "/", host, "If-None-Match: "+etag, nil), http.StatusNotModified); err != nil {
		return err
	}
	_, err = r.one(ctx, "GET "+script, drive.BuildRequest("GET", script, host, "Accept-Encoding: gzip", nil), http.StatusOK)
	return err
}
