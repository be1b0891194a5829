package operator

import (
	"fmt"
	"io"
	"math"
	"os"

	"inboxd/internal/intake/ingest"
)

// explainOTP does not need a server: it reads the file itself.
type explainOTP struct {
	File string `arg:"" help:"File with the raw message (RFC 5322)." type:"existingfile"`
}

// Run implements the command.
func (c *explainOTP) Run() error {
	raw, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	return explainCode(os.Stdout, raw)
}

func explainCode(out io.Writer, raw []byte) error {
	all, threshold := ingest.ExplainCode(raw)
	_, err := fmt.Fprintf(out, "candidates: %d; the answer needs a share of %.3f\n", len(all), threshold)
	for _, e := range all {
		fmt.Fprintf(out, "\n%s in %s: share %.3f, score %.2f\n", e.Code, e.Source, e.SoftmaxShare, e.Score)
		for _, w := range e.FeatureContributions {
			if math.Abs(w.Weight) >= 0.005 { // smaller weights would be printed as zero
				_, err = fmt.Fprintf(out, "  %+6.2f  %s\n", w.Weight, w.Name)
			}
		}
	}
	return err
}
