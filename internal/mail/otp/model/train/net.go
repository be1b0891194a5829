package train

import (
	"math"
	"math/rand"
	"slices"

	"inboxd/internal/mail/otp/model"
)

// Settings of the descent.
const (
	epochs   = 12
	rate     = 0.1
	decay    = 0.15
	pull     = 0.005 // of every weight towards nothing
	pullUnit = 0.002 // ... of what units have
	nets     = 3     // that learn by themselves; the model is their mean
	each     = model.Units / nets
	rare     = 5 // a place that fewer families have weighs nothing
)

// Settings are those in which the searches differ.
type Settings struct {
	Hidden float64 // part of what is known of a candidate that is not told, another one each time
	None   float64 // how much more a mail without an answer counts: a wrong one is worse than none
}

// Net is what is learned: see model.Model.
type Net struct {
	weights  []float64
	units    [][]float64 // of each place
	from, to []float64
	known    []bool // the places that are learned from
}

// Learn finds what fits to those examples that are used. Sums are parted from products (float64(a*b)), so that no
// machine may join them and round otherwise.
func (o Settings) Learn(all []*Example, size int, use func(*Example) bool) *Net {
	set := usable(all, use)
	mean := &Net{weights: make([]float64, size), units: make([][]float64, size), known: common(set, size)}
	for seed := range int64(nets) {
		l := newLearner(size, mean.known, rand.New(rand.NewSource(seed+1)))
		l.Settings = o
		l.descend(slices.Clone(set))
		for p := range size {
			mean.weights[p] += l.weights[p] / nets
			mean.units[p] = append(mean.units[p], l.units[p]...)
		}
		mean.from = append(mean.from, l.from...)
		for _, x := range l.to {
			mean.to = append(mean.to, x/nets)
		}
	}
	return mean
}

// score sums what the places have, and leaves in h what they give to the units.
func (n *Net) score(places []int32, h []float64) (sum float64) {
	copy(h, n.from)
	for _, p := range places {
		if n.known[p] {
			sum += n.weights[p]
			for k, w := range n.units[p] {
				h[k] += w
			}
		}
	}
	for k, x := range h {
		if x > 0 {
			sum += float64(x * n.to[k])
		}
	}
	return sum
}

func (n *Net) shares(candidates [][]int32) []float64 {
	scores, h := make([]float64, len(candidates)), make([]float64, len(n.from))
	for i, places := range candidates {
		scores[i] = n.score(places, h)
	}
	model.Shares(scores)
	return scores
}

// learner is a net with the squares of its slopes, by which its steps become smaller.
type learner struct {
	Net
	Settings
	squares                []float64
	unitSquares            [][]float64
	fromSquares, toSquares []float64
	r                      *rand.Rand
	told                   [][]int32   // of each candidate of the example at hand
	h                      [][]float64 // its units
	slopes                 []float64   // of the units of one candidate
}

func newLearner(size int, known []bool, r *rand.Rand) *learner {
	rows := func(size int) [][]float64 {
		all := make([][]float64, size)
		for i := range all {
			all[i] = make([]float64, each)
		}
		return all
	}
	few := func() []float64 { return make([]float64, each) }
	l := &learner{Net: Net{make([]float64, size), rows(size), few(), few(), known}, squares: make([]float64, size), unitSquares: rows(size),
		fromSquares: few(), toSquares: few(), r: r, slopes: few()}
	for _, row := range l.units {
		for k := range row {
			row[k] = r.NormFloat64() * 0.1
		}
	}
	for k := range l.to {
		l.to[k] = r.NormFloat64() * 0.5
	}
	return l
}

func (l *learner) descend(set []*Example) {
	for epoch := range epochs {
		step := rate / (1 + float64(decay*float64(epoch)))
		l.r.Shuffle(len(set), func(i, k int) { set[i], set[k] = set[k], set[i] })
		for _, e := range set {
			l.learn(e, step)
		}
	}
}

// learn moves everything towards the answer of an example.
func (l *learner) learn(e *Example, step float64) {
	shares := l.tell(e)
	right, weight := e.right(shares), e.Weight
	if e.Want == "" {
		weight *= l.None
	}
	for i, share := range shares {
		target := 0.0
		if e.Answers[i] == e.Want && e.Want != "" {
			target = share / right
		}
		if slope := float64((share - target) * weight); math.Abs(slope) >= 1e-4 {
			l.move(l.told[i], l.h[i], slope, step)
		}
	}
}

// tell gives the shares of the candidates of an example when only a part of what is known of each is told.
func (l *learner) tell(e *Example) []float64 {
	for len(l.told) < len(e.Places) {
		l.told, l.h = append(l.told, nil), append(l.h, make([]float64, each))
	}
	shares := make([]float64, len(e.Places))
	for i, places := range e.Places {
		l.told[i] = l.told[i][:0]
		for _, p := range places {
			if l.known[p] && l.r.Float64() >= l.Hidden {
				l.told[i] = append(l.told[i], p)
			}
		}
		shares[i] = l.score(l.told[i], l.h[i])
	}
	model.Shares(shares)
	return shares
}

// move moves what a candidate's score was made of against its slope.
func (l *learner) move(places []int32, h []float64, slope, step float64) {
	for k, x := range h {
		l.slopes[k] = 0
		if x > 0 {
			l.slopes[k] = float64(slope * l.to[k])
			down(&l.to[k], &l.toSquares[k], float64(slope*x)+float64(pullUnit*l.to[k]), step, 1e-2)
			down(&l.from[k], &l.fromSquares[k], l.slopes[k], step, 1e-2)
		}
	}
	for _, p := range places {
		down(&l.weights[p], &l.squares[p], slope+float64(pull*l.weights[p]), step, 1e-3)
		row, squares := l.units[p], l.unitSquares[p]
		for k, s := range l.slopes {
			if s != 0 {
				down(&row[k], &squares[k], s+float64(pullUnit*row[k]), step, 1e-2)
			}
		}
	}
}

// down is a step down a slope, the smaller the steeper all slopes before were.
func down(x, squares *float64, slope, step, least float64) {
	*squares += float64(slope * slope)
	*x -= float64(step*slope) / math.Sqrt(*squares+least)
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
