package train

import (
	"math"
	"math/rand"
	"slices"

	"inboxd/internal/mail/otp/model"
)

// Hyperparameters that all models share.
const (
	epochs   = 12
	rate     = 0.1                // initial learning rate
	decay    = 0.15               // the learning rate of epoch n is rate / (1 + decay*n)
	pull     = 0.005              // weight decay (L2) of the direct weights
	pullUnit = 0.002              // weight decay of the weights into and out of the hidden layer
	nets     = 3                  // networks of the ensemble, each from its own random start; the model is their mean
	each     = model.Units / nets // hidden units of one network
	rare     = 5                  // a feature value in fewer families of examples is not used
)

// Settings are the hyperparameters in which the models differ.
type Settings struct {
	Hidden float64 // dropout rate of the input: the part of the active features that each step leaves out
	None   float64 // factor on the weight of examples without an answer: a wrong answer is worse than none
}

// Net is a trained network. The fields are those of model.Model.
type Net struct {
	weights  []float64   // direct weight of each place
	units    [][]float64 // weights of each place into the hidden layer
	from, to []float64   // biases and output weights of the hidden units
	known    []bool      // whether the place is used
}

// Learn trains an ensemble on the examples that use accepts, and returns it as one network: it
// joins the hidden layers, and divides output weights and direct weights by the number of networks.
//
// Products are converted explicitly (float64(a*b)) before they are added. The compiler may
// otherwise fuse both operations on some processors, which rounds differently, and the weights must
// be equal everywhere.
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

// score returns the score of a candidate with these places. It leaves the inputs of the hidden
// units before ReLU in h.
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

// shares returns the softmax over the scores of the candidates: see model.Shares.
func (n *Net) shares(candidates [][]int32) []float64 {
	scores, h := make([]float64, len(candidates)), make([]float64, len(n.from))
	for i, places := range candidates {
		scores[i] = n.score(places, h)
	}
	model.Shares(scores)
	return scores
}

// learner trains one network with AdaGrad. The squares are the sums of the squared gradients of
// each weight so far.
type learner struct {
	Net
	Settings
	squares                []float64
	unitSquares            [][]float64
	fromSquares, toSquares []float64
	r                      *rand.Rand
	told                   [][]int32   // places of each candidate of the current example after dropout
	h                      [][]float64 // inputs of the hidden units for each of these candidates
	slopes                 []float64   // gradients of the inputs of the hidden units for one candidate
}

// newLearner returns a network with random weights around the hidden layer and direct weights of 0.

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

// descend runs stochastic gradient descent over all epochs, one example a step. It shuffles set.
func (l *learner) descend(set []*Example) {
	for epoch := range epochs {
		step := rate / (1 + float64(decay*float64(epoch)))
		l.r.Shuffle(len(set), func(i, k int) { set[i], set[k] = set[k], set[i] })
		for _, e := range set {
			l.learn(e, step)
		}
	}
}

// learn makes one step on an example. The loss is the cross-entropy of the softmax; several
// candidates may have the right answer, and the loss counts the sum of their shares. Its gradient
// for the score of a candidate is the difference of its share and its target; very small gradients
// are skipped.
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

// tell does the forward pass with dropout: it leaves out each place of each candidate with
// probability Hidden. It does not rescale the others, and inference uses all places without a
// factor.
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

// move does the backward pass for one candidate, whose score has the gradient slope, and updates
// every weight that took part in the score. The gradients include weight decay, except for the
// biases.
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

// down updates the weight x with one step of AdaGrad: the step is divided by the root of the sum of
// all squared gradients so far. least avoids a division by a very small number.
func down(x, squares *float64, slope, step, least float64) {
	*squares += float64(slope * slope)
	*x -= float64(step*slope) / math.Sqrt(*squares+least)
}

// usable returns the examples that use accepts and that can be learned from: they have candidates,
// and if they have an answer, it is among these.
func usable(all []*Example, use func(*Example) bool) (set []*Example) {
	for _, e := range all {
		if use(e) && len(e.Places) > 0 && (e.Want == "" || slices.Contains(e.Answers, e.Want)) {
			set = append(set, e)
		}
	}
	return set
}

// common reports for each place whether at least rare families have it. A family counts again if
// its examples are not next to each other in set.
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
