// Package train finds the weights of a model: those with which the answers of its data are the most
// probable. The same data give the same weights to the byte.
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

// Example is a mail: its candidates with the places of their weights, and which of them are the answer.
type Example struct {
	Family  string   // one template of one kind of sender
	Group   string   // what is left out together with it in the second kind of fold: its language
	Lender  *Example // whose words it has, too; nil for none
	Weight  float64
	Answers []string // of each candidate
	Places  [][]int32
	Parts   []int  // of each candidate, which part of the mail it stands in, ascending; nil when that does not count
	Want    string // "" for none
}

// Folds is into how many parts the examples are cut; each is answered by what was learned from the others.
const Folds = 10

// right gives the share of the answer.
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

// Outcome is what weights answered that did not learn from the example.
type Outcome struct {
	*Example
	Said
	parts []Said // by each part of the mail alone
}

// Said is the best candidate, whatever its share.
type Said struct {
	Answer string
	Share  float64
}

// From gives what is answered from a share on: by the whole mail, else by the first part that is sure by itself.
func (o Outcome) From(threshold float64) Said {
	for _, s := range append([]Said{o.Said}, o.parts...) {
		if s.Share >= threshold {
			return s
		}
	}
	return Said{}
}

// outcome gives what weights say to an example.
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

// best adds up what candidates of one answer have.
func best(answers []string, shares []float64) (most Said) {
	sums := map[string]float64{}
	for i, share := range shares {
		if sums[answers[i]] += share; sums[answers[i]] > most.Share {
			most = Said{answers[i], sums[answers[i]]}
		}
	}
	return most
}

// LeaveOut answers every example with what was not learned from its part, nor from one that was lent words of it.
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

func hash(s string) (h uint32) {
	for i := range len(s) {
		h = h*16777619 ^ uint32(s[i])
	}
	return h ^ h>>13
}

// Figures of answers given from a share on, in parts of 1.
type Figures struct {
	Mails        int
	Right, Wrong float64
}

// Count judges outcomes as if answers below the threshold were none.
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

// Logger is what a test prints with.
type Logger interface {
	Logf(format string, args ...any)
}

// Print judges outcomes for who reads the log of a training.
func Print(to Logger, name string, outcomes []Outcome, threshold float64) {
	f := Count(outcomes, threshold)
	to.Logf("%-20s %d mails, from share %.3f: right %.2f %%, wrong %.2f %%", name, f.Mails, threshold, 100*f.Right, 100*f.Wrong)
}

// PrintSure judges the answers of which it is as good as certain that they are right.
func PrintSure(to Logger, name string, outcomes []Outcome, threshold, sure float64) {
	answers, wrong := from(outcomes, threshold, sure)
	all, _ := from(outcomes, threshold, 0)
	to.Logf("%-20s %d of %d answers have a confidence of %g and more, %.2f %% of these are wrong", name, answers, all, Sure, 100*wrong)
}

// Misses prints what is answered otherwise than wanted.
func Misses(to Logger, name string, outcomes []Outcome, threshold float64) {
	for _, o := range outcomes {
		if got := o.From(threshold).Answer; got != o.Want {
			to.Logf("left out with its %s (%s): %s: want %q, got %q; best %q %.3f", name, o.Group, o.Family, o.Want, got, o.Answer, o.Share)
		}
	}
}

// Threshold gives the least share with which no more than a part of the answers are wrong.
func Threshold(outcomes []Outcome, wrong float64) float64 {
	for t := 0.5; t < 0.995; t += 0.005 {
		if Count(outcomes, t).Wrong <= wrong {
			return math.Round(t*1000) / 1000
		}
	}
	return 0.995
}

// atLeast gives the lower bound of a probability that held right times of n: three standard errors below, by
// Wilson's score, so that what was seldom seen is not called sure.
func atLeast(right, n float64) float64 {
	const z = 3
	p := right / n
	return (p + z*z/(2*n) - z*math.Sqrt(float64(p*(1-p)/n)+z*z/(4*n*n))) / (1 + z*z/n)
}

// Surely gives the least share from which on no more than a part of the answers are wrong, in each kind of fold.
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

// from tells how many answers have a share, and which part of these is wrong.
func from(outcomes []Outcome, threshold, share float64) (answers int, wrong float64) {
	for _, o := range outcomes {
		if s := o.From(threshold); s.Answer != "" && s.Share >= share {
			answers++
			wrong += bit(s.Answer != o.Want)
		}
	}
	return answers, wrong / float64(max(answers, 1))
}

// Sure is the confidence of answers of which hardly any is wrong.
const Sure = 0.9

// Curve gives, for shares in ascending order, at least how many of the answers around each were right. It
// reaches Sure at the share sure, not before.
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
		knots[i][1] = max(knots[i][1], knots[i-1][1]) // never less sure with a greater share
	}
	return knots
}

// File writes a model: see model.New.
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
