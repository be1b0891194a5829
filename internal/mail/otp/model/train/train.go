// Package train trains the network of package model, estimates its quality by cross-validation, and
// derives the threshold and the calibration curve from the held-out folds. The result is
// deterministic: the same training data give the same file of weights, byte for byte. It runs in
// tests only, and does not know what a message is.
package train

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
)

// Example is one labelled example: the candidates of a message with their features, and the right
// answer.
type Example struct {
	Family  string    // one template of one kind of sender
	Group   string    // what the second kind of fold holds out together: the language
	Lender  *Example  // another example whose words this one contains, otherwise nil
	Weight  float64   // factor on the gradient
	Answers []string  // the answer that each candidate stands for
	Places  [][]int32 // the places of each candidate: see model.Model.Places
	Parts   []int     // the part of the message of each candidate, ascending; nil if parts do not count
	Want    string    // the right answer, "" for none
}

// Folds is the number of folds of the cross-validation.
const Folds = 10

// right returns the share of the right answer, which is that of "none of the candidates" if Want is
// empty.
func (e *Example) right(shares []float64) (sum float64) {
	rest := 1.0
	for i, share := range shares {
		rest -= share
		if e.Answers[i] == e.Want {
			sum += share
		}
	}
	if e.Want == "" {
		return rest
	}
	return sum
}

// Outcome is the prediction for a held-out example by a network that was not trained on it.
type Outcome struct {
	*Example
	Said
	parts []Said // predictions from the candidates of each part alone
}

// Said is a prediction: the best answer, without regard to the threshold, and its share.
type Said struct {
	Answer string
	Share  float64
}

// From returns the prediction at a threshold. If the whole message does not reach it, the first
// part that reaches it by itself counts. It returns the zero Said if none does.
func (o Outcome) From(threshold float64) Said {
	for _, s := range append([]Said{o.Said}, o.parts...) {
		if s.Share >= threshold {
			return s
		}
	}
	return Said{}
}

// outcome returns the prediction of n for the example.
func (e *Example) outcome(n *Net) Outcome {
	o := Outcome{Example: e, Said: best(e.Answers, n.shares(e.Places))}
	for first, last := 0, 0; first < len(e.Parts); first = last {
		for last < len(e.Parts) && e.Parts[last] == e.Parts[first] {
			last++
		}
		o.parts = append(o.parts, best(e.Answers[first:last], n.shares(e.Places[first:last])))
	}
	return o
}

// best sums the shares of the candidates with the same answer, and returns the answer with the
// largest sum.
func best(answers []string, shares []float64) (most Said) {
	sums := map[string]float64{}
	for i, share := range shares {
		if sums[answers[i]] += share; sums[answers[i]] > most.Share {
			most = Said{answers[i], sums[answers[i]]}
		}
	}
	return most
}

// LeaveOut runs a cross-validation with Folds folds and returns the predictions for all examples.
// Examples for which part returns the same string are in the same fold. Training for a fold also
// leaves out examples whose Lender is in it: they contain words of a held-out example.
func (o Settings) LeaveOut(all []*Example, size int, part func(*Example) string) []Outcome {
	fold := func(e *Example) uint32 { return hash(part(e)) % Folds }
	var outcomes [Folds][]Outcome
	var folds sync.WaitGroup
	turn := make(chan bool, runtime.GOMAXPROCS(0))
	for f := range uint32(Folds) {
		folds.Go(func() {
			turn <- true
			defer func() { <-turn }()
			n := o.Learn(all, size, func(e *Example) bool { return fold(e) != f && (e.Lender == nil || fold(e.Lender) != f) })
			for _, e := range all {
				if fold(e) == f {
					outcomes[f] = append(outcomes[f], e.outcome(n))
				}
			}
		})
	}
	folds.Wait()
	return slices.Concat(outcomes[:]...)
}

// hash is a variant of FNV. It must not change, because it decides the fold of every example.
func hash(s string) (h uint32) {
	for i := range len(s) {
		h = h*16777619 ^ uint32(s[i])
	}
	return h ^ h>>13
}

// Figures are the results at one threshold.
type Figures struct {
	Mails        int     // number of examples
	Right, Wrong float64 // fraction of the examples; the rest is a missing answer
}

// Count evaluates the outcomes at a threshold. No answer is right if the example has none.
func Count(outcomes []Outcome, threshold float64) (f Figures) {
	for _, o := range outcomes {
		f.Mails++
		switch answer := o.From(threshold).Answer; answer {
		case o.Want:
			f.Right++
		case "":
		default:
			f.Wrong++
		}
	}
	f.Right, f.Wrong = f.Right/float64(f.Mails), f.Wrong/float64(f.Mails)
	return f
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Logger is the part of testing.TB that this package prints with.
type Logger interface {
	Logf(format string, args ...any)
}

// Print logs the figures of the outcomes at a threshold.
func Print(to Logger, name string, outcomes []Outcome, threshold float64) {
	f := Count(outcomes, threshold)
	to.Logf("%-20s %d mails, from share %.3f: right %.2f %%, wrong %.2f %%", name, f.Mails, threshold, 100*f.Right, 100*f.Wrong)
}

// PrintSure logs how many answers have a confidence of at least Sure, and how many of these are
// wrong. The share sure is the one at which the calibration curve reaches Sure.
func PrintSure(to Logger, name string, outcomes []Outcome, threshold, sure float64) {
	answers, wrong := from(outcomes, threshold, sure)
	all, _ := from(outcomes, threshold, 0)
	to.Logf("%-20s %d of %d answers have a confidence of %g and more, %.2f %% of these are wrong", name, answers, all, Sure, 100*wrong)
}

// Misses logs every outcome that is not the right answer.
func Misses(to Logger, name string, outcomes []Outcome, threshold float64) {
	for _, o := range outcomes {
		if got := o.From(threshold).Answer; got != o.Want {
			to.Logf("left out with its %s (%s): %s: want %q, got %q; best %q %.3f", name, o.Group, o.Family, o.Want, got, o.Answer, o.Share)
		}
	}
}

// Threshold returns the smallest threshold, from 0.5 in steps of 0.005, at which at most the
// fraction wrong of the outcomes is wrong.
func Threshold(outcomes []Outcome, wrong float64) float64 {
	for t := 0.5; t < 0.995; t += 0.005 {
		if Count(outcomes, t).Wrong <= wrong {
			return math.Round(t*1000) / 1000
		}
	}
	return 0.995
}

// atLeast returns the lower bound of the Wilson score interval, at three standard errors, for an
// event that occurred right times out of n. A bound keeps the confidence low where there are few
// examples.
func atLeast(right, n float64) float64 {
	const z = 3
	p := right / n
	return (p + z*z/(2*n) - z*math.Sqrt(float64(p*(1-p)/n)+z*z/(4*n*n))) / (1 + z*z/n)
}

// Surely returns the smallest share, from threshold on, such that at most the fraction wrong of the
// answers with this share or more is wrong, for every kind of fold.
func Surely(threshold, wrong float64, kinds ...[]Outcome) float64 {
	for t := threshold; t < 0.999; t += 0.001 {
		most := 0.0
		for _, outcomes := range kinds {
			_, part := from(outcomes, threshold, t)
			most = max(most, part)
		}
		if most <= wrong {
			return math.Round(t*1000) / 1000
		}
	}
	return 0.999
}

// from returns how many answers at the threshold have at least this share, and which fraction of
// them is wrong.
func from(outcomes []Outcome, threshold, share float64) (answers int, wrong float64) {
	for _, o := range outcomes {
		if s := o.From(threshold); s.Answer != "" && s.Share >= share {
			answers++
			wrong += bit(s.Answer != o.Want)
		}
	}
	return answers, wrong / float64(max(answers, 1))
}

// Sure is the confidence from which callers may rely on an answer: see Surely.
const Sure = 0.9

// Curve returns the calibration curve: pairs of a share and a confidence, both ascending. Each
// point is a bucket of outcomes with its mean share and the lower bound of the fraction that is
// right; buckets of fewer than 10 outcomes are left out. The curve reaches Sure exactly at the
// share sure.
func Curve(outcomes []Outcome, sure float64) (knots [][2]float64) {
	answers := slices.Clone(outcomes)
	slices.SortStableFunc(answers, func(a, b Outcome) int { return cmp.Compare(a.Share, b.Share) })
	for _, edge := range []float64{0.05, 0.15, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997, 1.01} {
		n, right, share := 0.0, 0.0, 0.0
		for len(answers) > 0 && answers[0].Share < edge {
			n, share, right = n+1, share+answers[0].Share, right+bit(answers[0].Answer == answers[0].Want && answers[0].Want != "")
			answers = answers[1:]
		}
		if n >= 10 {
			knots = append(knots, [2]float64{share / n, atLeast(right, n)})
		}
	}
	knots = slices.DeleteFunc(knots, func(k [2]float64) bool { return (k[0] >= sure) != (k[1] >= Sure) })
	knots = append(knots, [2]float64{sure, Sure})
	slices.SortFunc(knots, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(knots); i++ {
		knots[i][1] = max(knots[i][1], knots[i-1][1]) // the confidence must not fall while the share rises
	}
	return knots
}

// File returns the file of weights of a network in the format that model.New reads.
func File(digest string, names []string, n *Net, threshold float64, curve [][2]float64) []byte {
	var b bytes.Buffer
	b.WriteString("# Weights, made from testdata by make otp-train: a feature and its value, what it adds to the score, and to each unit.\n")
	fmt.Fprintf(&b, "data %s\nthreshold %g\n", digest, threshold)
	for _, k := range curve {
		fmt.Fprintf(&b, "right %.4f %.4f\n", k[0], k[1])
	}
	line(&b, "from", n.from)
	line(&b, "to", n.to)
	for p, name := range names {
		if n.known[p] {
			line(&b, name, n.weights[p:p+1], n.units[p])
		}
	}
	return b.Bytes()
}

// line writes a line of the file, with two decimal places for each weight.
func line(b *bytes.Buffer, name string, rows ...[]float64) {
	b.WriteString(name)
	for _, row := range rows {
		for _, x := range row {
			b.WriteByte(' ')
			b.WriteString(strconv.FormatFloat(math.Round(x*100)/100+0, 'g', -1, 64))
		}
	}
	b.WriteByte('\n')
}
