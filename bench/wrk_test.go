package bench

import (
	"testing"
	"time"
)

func TestParseWrk(t *testing.T) {
	const out = `Running 2s test @ http://127.0.0.1:1
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.89ms    1.70ms  27.31ms   92.04%
  180210 requests in 2.10s, 118.58MB read
Requests/sec:  85814.28
`
	r, err := parseWrk(out)
	if err != nil || r.Count != 180210 || r.Errors != 0 || r.Elapsed != 2100*time.Millisecond {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = parseWrk(out + "  Non-2xx or 3xx responses: 210\n  Socket errors: connect 0, read 1, write 0, timeout 0\n")
	if err != nil || r.Count != 179999 || r.Errors != 211 || r.FirstError != "Non-2xx or 3xx responses: 210" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := parseWrk("unable to connect"); err == nil {
		t.Error("nonsense was read as a result")
	}
}
