package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"inboxd/bench/drive"
)

// wrkScript makes wrk walk over all requests. Each thread formats them once, before the
// first is sent, and starts somewhere else.
const wrkScript = `
local requests, i = {}, 0
function init(args)
  for line in io.lines(args[1]) do
    local path, key, etag = line:match("^(%S+) (%S+) ?(%S*)$")
    local fields = {["X-API-Key"] = key, ["Host"] = wrk.host}
    if etag ~= "" then fields["If-None-Match"] = etag end
    requests[#requests + 1] = wrk.format("GET", path, fields)
  end
  i = math.random(#requests)
end
function request()
  i = i % #requests + 1
  return requests[i]
end
`

// compareWrk repeats the comparison with wrk, whose client costs are not ours.
func compareWrk(ctx context.Context, bed *Bed, v pollVariant, targets []pollTarget, mailed []mailedInbox, opts PollOptions) error {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		return fmt.Errorf("--wrk: wrk is not installed (Debian package wrk): %w", err)
	}
	paths, script := filepath.Join(bed.dir, "wrk.paths"), filepath.Join(bed.dir, "wrk.lua")
	var lines bytes.Buffer
	for _, m := range mailed {
		fmt.Fprintln(&lines, strings.Join(append([]string{v.path(m.Address)}, v.values(m)...), " "))
	}
	if err := os.WriteFile(paths, lines.Bytes(), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(script, []byte(wrkScript), 0o600); err != nil {
		return err
	}
	var sides []drive.Side
	for _, t := range targets {
		run := func(ctx context.Context, _ int) (drive.Round, error) {
			return runWrk(ctx, wrk, script, paths, t.addr, opts)
		}
		sides = append(sides, drive.Side{Target: t.name, Run: run, Proc: t.proc})
	}
	results, err := drive.Alternate(ctx, "GET /latest "+v.name+" (wrk)", opts.Rounds, sides...)
	if err == nil {
		bed.Report.Compare(results)
	}
	return err
}

func runWrk(ctx context.Context, wrk, script, paths, addr string, opts PollOptions) (drive.Round, error) {
	seconds := max(int(opts.Duration.Seconds())/opts.Rounds, 1) // wrk takes whole seconds
	cmd := exec.CommandContext(ctx, wrk, "-t2", "-c"+strconv.Itoa(max(opts.Connections, 2)),
		"-d"+strconv.Itoa(seconds)+"s", "-s", script, "http://"+addr, "--", paths)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return drive.Round{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	return parseWrk(string(out))
}

// parseWrk reads "N requests in 2.00s, ..." and the lines that count failures. wrk counts
// every answer as a request, whatever its status.
func parseWrk(out string) (drive.Round, error) {
	var r drive.Round
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 4 && fields[1] == "requests" && fields[2] == "in":
			r.Count, _ = strconv.ParseInt(fields[0], 10, 64)
			r.Elapsed, _ = time.ParseDuration(strings.TrimSuffix(fields[3], ","))
		case strings.Contains(line, "Non-2xx or 3xx responses:"):
			n, _ := strconv.ParseInt(fields[len(fields)-1], 10, 64)
			r.Errors += n
			r.FirstError = strings.TrimSpace(line)
		case strings.Contains(line, "Socket errors:"):
			r.Fail(strings.TrimSpace(line))
		}
	}
	if r.Count == 0 || r.Elapsed == 0 {
		return drive.Round{}, fmt.Errorf("wrk: cannot read its answer:\n%s", out)
	}
	r.Count -= r.Errors
	return r, nil
}
