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
	Family          string    // one template of one kind of sender
	Group           string    // what the second kind of fold holds out together: the language
	IncludedExample *Example  // another example whose words this one contains, otherwise nil
	Weight          float64   // factor on the gradient
	Answers         []string  // the answer that each candidate stands for
	Places          [][]int32 // the places of each candidate: see model.Model.Places
	Parts           []int     // the part of the message of each candidate, ascending; nil if parts do not count
	WantAnswer      string    // the right answer, "" for none
}

// FoldCount is the number of folds of a cross-validation, unless Settings has another.
const FoldCount = 10

// rightShare returns the share of the right answer, which is that of "none of the candidates" if
// WantAnswer is empty.
func (e *Example) rightShare(shares []float64) (sum float64) {
	rest := 1.0
	for i, share := range shares {
		rest -= share
		if e.Answers[i] == e.WantAnswer {
			sum += share
		}
	}
	if e.WantAnswer == "" {
		return rest
	}
	return sum
}

// Outcome is the prediction for a held-out example by a network that was not trained on it.
type Outcome struct {
	*Example
	BestAnswer
	partPredictions []BestAnswer // predictions from the candidates of each part alone
}

// BestAnswer is a prediction: the best answer, without regard to the threshold, and its share.
type BestAnswer struct {
	Answer string
	Share  float64
}

// AnswerAt returns the prediction at a threshold. If the whole message does not reach it, the first
// part that reaches it by itself counts. It returns the zero BestAnswer if none does.
func (o Outcome) AnswerAt(threshold float64) BestAnswer {
	for _, s := range append([]BestAnswer{o.BestAnswer}, o.partPredictions...) {
		if s.Share >= threshold {
			return s
		}
	}
	return BestAnswer{}
}

// predictOutcome returns the prediction of n for the example.
func (e *Example) predictOutcome(n *NeuralNetwork) Outcome {
	o := Outcome{Example: e, BestAnswer: bestAnswer(e.Answers, n.softmaxShares(e.Places))}
	for first, last := 0, 0; first < len(e.Parts); first = last {
		for last < len(e.Parts) && e.Parts[last] == e.Parts[first] {
			last++
		}
		o.partPredictions = append(o.partPredictions, bestAnswer(e.Answers[first:last], n.softmaxShares(e.Places[first:last])))
	}
	return o
}

// bestAnswer sums the shares of the candidates with the same answer, and returns the answer with the
// largest sum.
func bestAnswer(answers []string, shares []float64) (most BestAnswer) {
	sums := map[string]float64{}
	for i, share := range shares {
		if sums[answers[i]] += share; sums[answers[i]] > most.Share {
			most = BestAnswer{answers[i], sums[answers[i]]}
		}
	}
	return most
}

// LeaveOut runs a cross-validation and returns the predictions for all examples.
// Examples for which part returns the same string are in the same fold. Training for a fold also
// leaves out examples whose IncludedExample is in it: they contain words of a held-out example.
func (o Settings) LeaveOut(all []*Example, size int, part func(*Example) string) []Outcome {
	outcomes := make([][]Outcome, cmp.Or(o.Folds, FoldCount))
	fold := func(e *Example) int { return int(foldHash(part(e))) % len(outcomes) }
	var folds sync.WaitGroup
	turn := make(chan bool, runtime.GOMAXPROCS(0))
	for f := range outcomes {
		folds.Go(func() {
			turn <- true
			defer func() { <-turn }()
			n := o.TrainNetwork(all, size, func(e *Example) bool {
				return fold(e) != f && (e.IncludedExample == nil || fold(e.IncludedExample) != f)
			})
			for _, e := range all {
				if fold(e) == f {
					outcomes[f] = append(outcomes[f], e.predictOutcome(n))
				}
			}
		})
	}
	folds.Wait()
	return slices.Concat(outcomes...)
}

// foldHash is a variant of FNV. It must not change, because it decides the fold of every example.
func foldHash(s string) (h uint32) {
	for i := range len(s) {
		h = h*16777619 ^ uint32(s[i])
	}
	return h ^ h>>13
}

// EvaluationResult are the results at one threshold.
type EvaluationResult struct {
	ExampleCount                 int     // number of examples
	RightFraction, WrongFraction float64 // fraction of the examples; the rest is a missing answer
}

// EvaluateAt evaluates the outcomes at a threshold. No answer is right if the example has none.
func EvaluateAt(outcomes []Outcome, threshold float64) (f EvaluationResult) {
	for _, o := range outcomes {
		f.ExampleCount++
		switch answer := o.AnswerAt(threshold).Answer; answer {
		case o.WantAnswer:
			f.RightFraction++
		case "":
		default:
			f.WrongFraction++
		}
	}
	f.RightFraction, f.WrongFraction = f.RightFraction/float64(f.ExampleCount), f.WrongFraction/float64(f.ExampleCount)
	return f
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Logger is the part of testing.TB that this package prints with.
type Logger interface {
	Logf(format string, args ...any)
}

// LogFigures logs the figures of the outcomes at a threshold.
func LogFigures(to Logger, name string, outcomes []Outcome, threshold float64) {
	f := EvaluateAt(outcomes, threshold)
	to.Logf("%-20s %d mails, from share %.3f: right %.2f %%, wrong %.2f %%", name, f.ExampleCount, threshold, 100*f.RightFraction, 100*f.WrongFraction)
}

// PrintSure logs how many answers have a confidence of at least SureConfidence, and how many of
// these are wrong. The share sure is the one at which the calibration curve reaches SureConfidence.
func PrintSure(to Logger, name string, outcomes []Outcome, threshold, sure float64) {
	answers, wrong := answersFrom(outcomes, threshold, sure)
	all, _ := answersFrom(outcomes, threshold, 0)
	to.Logf("%-20s %d of %d answers have a confidence of %g and more, %.2f %% of these are wrong", name, answers, all, SureConfidence, 100*wrong)
}

// LogMisses logs every outcome that is not the right answer.
func LogMisses(to Logger, name string, outcomes []Outcome, threshold float64) {
	for _, o := range outcomes {
		if got := o.AnswerAt(threshold).Answer; got != o.WantAnswer {
			to.Logf("left out with its %s (%s): %s: want %q, got %q; best %q %.3f", name, o.Group, o.Family, o.WantAnswer, got, o.Answer, o.Share)
		}
	}
}

// FindThreshold returns the smallest threshold, from 0.5 in steps of 0.005, at which at most the
// fraction wrong of the outcomes is wrong.
func FindThreshold(outcomes []Outcome, wrong float64) float64 {
	for t := 0.5; t < 0.995; t += 0.005 {
		if EvaluateAt(outcomes, t).WrongFraction <= wrong {
			return math.Round(t*1000) / 1000
		}
	}
	return 0.995
}

// UtilityThreshold returns the threshold for outcomes, from 0.5 in steps of 0.005. The utility of a
// right answer is 1, that of none 0, and that of a wrong one -cost. The utility hardly changes over a
// wide range, less than its standard error of about 0.004 for 7,000 outcomes. So the result is the
// smallest threshold with at most 0.003 less than the largest mean.
func UtilityThreshold(outcomes []Outcome, cost float64) float64 {
	const first, step, steps, tolerance = 0.5, 0.005, 100, 0.003
	var utilities [steps]float64
	for i := range utilities {
		for _, o := range outcomes {
			switch answer := o.AnswerAt(first + float64(i)*step).Answer; answer {
			case "":
			case o.WantAnswer:
				utilities[i] += 1 / float64(len(outcomes))
			default:
				utilities[i] -= cost / float64(len(outcomes))
			}
		}
	}
	best := slices.Max(utilities[:])
	i := slices.IndexFunc(utilities[:], func(u float64) bool { return u >= best-tolerance })
	return math.Round((first+float64(i)*step)*1000) / 1000
}

// atLeast returns the lower bound of the Wilson score interval, at three standard errors, for an
// event that occurred right times out of n. A bound keeps the confidence low where there are few
// examples.
func atLeast(right, n float64) float64 {
	const z = 3
	p := right / n
	return (p + z*z/(2*n) - z*math.Sqrt(float64(p*(1-p)/n)+z*z/(4*n*n))) / (1 + z*z/n)
}

// ReliableShare returns the smallest share, from threshold on, such that at most the fraction wrong
// of the answers with this share or more is wrong, for every kind of fold.
func ReliableShare(threshold, wrong float64, kinds ...[]Outcome) float64 {
	for t := threshold; t < 0.999; t += 0.001 {
		most := 0.0
		for _, outcomes := range kinds {
			_, part := answersFrom(outcomes, threshold, t)
			most = max(most, part)
		}
		if most <= wrong {
			return math.Round(t*1000) / 1000
		}
	}
	return 0.999
}

// answersFrom returns how many answers at the threshold have at least this share, and which fraction of
// them is wrong.
func answersFrom(outcomes []Outcome, threshold, share float64) (answers int, wrong float64) {
	for _, o := range outcomes {
		if s := o.AnswerAt(threshold); s.Answer != "" && s.Share >= share {
			answers++
			wrong += boolToFloat(s.Answer != o.WantAnswer)
		}
	}
	return answers, wrong / float64(max(answers, 1))
}

// SureConfidence is the confidence from which callers may rely on an answer: see ReliableShare.
const SureConfidence = 0.9

// CalibrationCurve returns the calibration curve: pairs of a share and a confidence, both
// ascending. Each point is a bucket of outcomes with its mean share and the lower bound of the
// fraction that is right; buckets of fewer than 10 outcomes are left out. The curve reaches
// SureConfidence exactly at the share sure.
func CalibrationCurve(outcomes []Outcome, sure float64) (knots [][2]float64) {
	answers := slices.Clone(outcomes)
	slices.SortStableFunc(answers, func(a, b Outcome) int { return cmp.Compare(a.Share, b.Share) })
	for _, edge := range []float64{0.05, 0.15, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997, 1.01} {
		n, right, share := 0.0, 0.0, 0.0
		for len(answers) > 0 && answers[0].Share < edge {
			n, share, right = n+1, share+answers[0].Share, right+boolToFloat(answers[0].Answer == answers[0].WantAnswer && answers[0].WantAnswer != "")
			answers = answers[1:]
		}
		if n >= 10 {
			knots = append(knots, [2]float64{share / n, atLeast(right, n)})
		}
	}
	knots = slices.DeleteFunc(knots, func(k [2]float64) bool { return (k[0] >= sure) != (k[1] >= SureConfidence) })
	knots = append(knots, [2]float64{sure, SureConfidence})
	slices.SortFunc(knots, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(knots); i++ {
		knots[i][1] = max(knots[i][1], knots[i-1][1]) // the confidence must not fall while the share rises
	}
	return knots
}

// FormatWeights returns the file of weights of a network in the format that model.New reads.
func FormatWeights(digest string, names []string, n *NeuralNetwork, threshold float64, curve [][2]float64) []byte {
	var b bytes.Buffer
	b.WriteString("# Weights, made from testdata by make otp-train: a feature and its value, what it adds to the score, and to each unit.\n")
	fmt.Fprintf(&b, "data %s\nthreshold %g\n", digest, threshold)
	for _, k := range curve {
		fmt.Fprintf(&b, "right %.4f %.4f\n", k[0], k[1])
	}
	writeLine(&b, "from", n.from)
	writeLine(&b, "to", n.to)
	for p, name := range names {
		if n.usedPlaces[p] {
			writeLine(&b, name, n.directWeights[p:p+1], n.hiddenWeights[p])
		}
	}
	return b.Bytes()
}

// writeLine writes a line of the file, with two decimal places for each weight.
func writeLine(b *bytes.Buffer, name string, rows ...[]float64) {
	b.WriteString(name)
	for _, row := range rows {
		for _, x := range row {
			b.WriteByte(' ')
			b.WriteString(strconv.FormatFloat(math.Round(x*100)/100+0, 'g', -1, 64))
		}
	}
	b.WriteByte('\n')
}
