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
	x := ingest.ExplainCode(raw)
	fmt.Fprintf(out, "candidates: %d; the answer needs a share of %.3f\n", len(x.Candidates), x.Threshold)
	for _, e := range x.Candidates {
		fmt.Fprintf(out, "\n%s in %s: share %.3f, score %.2f\n", e.Code, e.Source, e.SoftmaxShare, e.Score)
		for _, w := range e.FeatureContributions {
			if math.Abs(w.Weight) >= 0.005 { // smaller weights would be printed as zero
				fmt.Fprintf(out, "  %+6.2f  %s\n", w.Weight, w.Name)
			}
		}
	}
	answer := "none"
	if a := x.Answer; a.Code != "" {
		answer = fmt.Sprintf("%s, from %s, with a confidence of %.2f", a.Code, a.Source, a.Confidence)
	}
	_, err := fmt.Fprintf(out, "\nanswer: %s\n", answer)
	return err
}
