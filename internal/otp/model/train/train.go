// Package train finds the weights of a model: those with which the answers of its data are the most
// probable. The same data give the same weights to the byte.
package train

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"

	"inboxd/internal/otp/model"
)

// Example is a mail: its candidates with the places of their weights, and which of them are the answer.
type Example struct {
	Family  string // one template of one kind of sender
	Group   string // what is left out together with it in the second kind of fold: its language
	Weight  float64
	Answers []string // of each candidate
	Places  [][]int
	Parts   []int  // of each candidate, which part of the mail it stands in, ascending; nil when that does not count
	Want    string // "" for none
}

// Settings of the descent.
const (
	epochs = 12
	rate   = 0.15
	decay  = 0.15
	pull   = 0.005 // of every weight towards nothing
	orders = 4     // in which the examples come; the weights are the mean of all
	joint  = 5     // how much stronger the weights of pairs are pulled
	rare   = 5     // a place that fewer families have weighs nothing
	least  = 0.03  // a weight; less is nothing
	Folds  = 10
)

// Weights learns from those examples that are used. Sums are parted from products (float64(a*b)), so that
// no machine may join them and round otherwise.
func Weights(all []*Example, names []string, use func(*Example) bool) []float64 {
	total, pulls := make([]float64, len(names)), make([]float64, len(names))
	for i, name := range names {
		pulls[i] = pull * (1 + (joint-1)*bit(strings.Contains(name, " ")))
	}
	set := usable(all, use)
	known := common(set, len(names))
	for order := range int64(orders) {
		descend(set, known, pulls, total, rand.New(rand.NewSource(order+1)))
	}
	for i := range total {
		if total[i] = math.Round(total[i]/orders*100) / 100; math.Abs(total[i]) < least {
			total[i] = 0
		}
	}
	return total
}

// descend adds to total the mean weights of the later half of its epochs.
func descend(all []*Example, known []bool, pulls, total []float64, r *rand.Rand) {
	w, squares, set := make([]float64, len(total)), make([]float64, len(total)), slices.Clone(all)
	for epoch := range epochs {
		step := rate / (1 + decay*float64(epoch))
		r.Shuffle(len(set), func(i, k int) { set[i], set[k] = set[k], set[i] })
		for _, e := range set {
			e.learn(w, squares, pulls, known, step)
		}
		if epoch >= epochs/2 {
			for i := range w {
				total[i] += w[i] / float64(epochs-epochs/2)
			}
		}
	}
}

// learn moves the weights towards the answer of an example.
func (e *Example) learn(w, squares, pulls []float64, known []bool, step float64) {
	shares := e.shares(w)
	right := e.right(shares)
	for i, share := range shares {
		target := 0.0
		if e.Answers[i] == e.Want && e.Want != "" {
			target = share / right
		}
		slope := float64((share - target) * e.Weight)
		if math.Abs(slope) < 1e-4 {
			continue
		}
		for _, p := range e.Places[i] {
			if known[p] {
				g := slope + float64(pulls[p]*w[p])
				squares[p] += float64(g * g)
				w[p] -= float64(step*g) / math.Sqrt(squares[p]+1e-3)
			}
		}
	}
}

// usable gives the examples that have candidates, and their answer among these.
func usable(all []*Example, use func(*Example) bool) (set []*Example) {
	for _, e := range all {
		if use(e) && len(e.Places) > 0 && (e.Want == "" || slices.Contains(e.Answers, e.Want)) {
			set = append(set, e)
		}
	}
	return set
}

// common tells the places that enough families have.
func common(set []*Example, size int) []bool {
	families, last := make([]int, size), make([]string, size)
	for _, e := range set {
		for _, places := range e.Places {
			for _, p := range places {
				if last[p] != e.Family {
					last[p] = e.Family
					families[p]++
				}
			}
		}
	}
	known := make([]bool, size)
	for p, n := range families {
		known[p] = n >= rare
	}
	return known
}

func (e *Example) shares(w []float64) []float64 { return sharesOf(e.Places, w) }

func sharesOf(candidates [][]int, w []float64) []float64 {
	scores := make([]float64, len(candidates))
	for i, places := range candidates {
		for _, p := range places {
			scores[i] += w[p]
		}
	}
	model.Shares(scores)
	return scores
}

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
func (e *Example) outcome(w []float64) Outcome {
	o := Outcome{Example: e, Said: best(e.Answers, e.shares(w))}
	for first, last := 0, 0; first < len(e.Parts); first = last {
		for last < len(e.Parts) && e.Parts[last] == e.Parts[first] {
			last++
		}
		o.parts = append(o.parts, best(e.Answers[first:last], sharesOf(e.Places[first:last], w)))
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

// LeaveOut answers every example with weights that have not learned from its part.
func LeaveOut(all []*Example, names []string, part func(*Example) string) (outcomes []Outcome) {
	fold := func(e *Example) uint32 { return hash(part(e)) % Folds }
	for f := range uint32(Folds) {
		w := Weights(all, names, func(e *Example) bool { return fold(e) != f })
		for _, e := range all {
			if fold(e) == f {
				outcomes = append(outcomes, e.outcome(w))
			}
		}
	}
	return outcomes
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
func File(digest string, names []string, weights []float64, threshold float64, curve [][2]float64) []byte {
	var b strings.Builder
	b.WriteString("# Weights, made from testdata by make otp-train. A number, then the feature and its value, or two of them.\n")
	fmt.Fprintf(&b, "data %s\nthreshold %g\n", digest, threshold)
	for _, k := range curve {
		fmt.Fprintf(&b, "right %.4f %.4f\n", k[0], k[1])
	}
	for i, w := range weights {
		if w != 0 {
			fmt.Fprintf(&b, "%.2f %s\n", w, names[i])
		}
	}
	return []byte(b.String())
}
