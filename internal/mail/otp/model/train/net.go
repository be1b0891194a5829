package train

import (
	"cmp"
	"math"
	"math/rand"
	"slices"
	"sync"

	"inboxd/internal/mail/otp/model"
)

// Hyperparameters that all models share.
const (
	epochCount      = 12
	initialRate     = 0.1                              // initial learning rate
	rateDecay       = 0.15                             // the learning rate of epoch n is rate / (1 + decay*n)
	weightDecay     = 0.005                            // weight decay (L2) of the direct weights
	pullUnit        = 0.002                            // weight decay of the weights into and out of the hidden layer
	ensembleSize    = 3                                // networks of the ensemble, each from its own random start; the model is their mean
	unitsPerNetwork = model.HiddenUnits / ensembleSize // hidden units of one network
	minFamilies     = 5                                // a feature value in fewer families of examples is not used
)

// Settings are the hyperparameters in which the models differ.
type Settings struct {
	InputDropout   float64 // dropout rate of the input: the part of the active features that each step leaves out
	NoAnswerWeight float64 // factor on the weight of examples without an answer: a wrong answer is worse than none
	Folds          int     // folds of a cross-validation, FoldCount if 0

	// Simpler models, to compare with: only outcomes of LeaveOut can be of one.
	IsLinear bool // without a hidden layer
	Networks int  // networks of the ensemble, ensembleSize if 0
}

// NeuralNetwork is a trained network. The fields are those of model.Model.
type NeuralNetwork struct {
	directWeights []float64   // direct weight of each place
	hiddenWeights [][]float64 // weights of each place into the hidden layer
	from, to      []float64   // biases and output weights of the hidden units
	usedPlaces    []bool      // whether the place is used
}

// TrainNetwork trains an ensemble on the examples that use accepts, and returns it as one network: it
// joins the hidden layers, and divides output weights and direct weights by the number of networks.
//
// Products are converted explicitly (float64(a*b)) before they are added. The compiler may
// otherwise fuse both operations on some processors, which rounds differently, and the weights must
// be equal everywhere.
func (o Settings) TrainNetwork(all []*Example, size int, use func(*Example) bool) *NeuralNetwork {
	set := usableExamples(all, use)
	mean := &NeuralNetwork{directWeights: make([]float64, size), hiddenWeights: make([][]float64, size), usedPlaces: commonPlaces(set, size)}
	members := make([]*learner, cmp.Or(o.Networks, ensembleSize))
	var running sync.WaitGroup
	for i := range members {
		members[i] = o.newLearner(size, mean.usedPlaces, rand.New(rand.NewSource(int64(i+1))))
		running.Go(func() { members[i].runEpochs(slices.Clone(set)) })
	}
	running.Wait()
	for _, l := range members {
		for p := range size {
			mean.directWeights[p] += l.directWeights[p] / float64(len(members))
			mean.hiddenWeights[p] = append(mean.hiddenWeights[p], l.hiddenWeights[p]...)
		}
		mean.from = append(mean.from, l.from...)
		for _, x := range l.to {
			mean.to = append(mean.to, x/float64(len(members)))
		}
	}
	return mean
}

// scoreCandidate returns the score of a candidate with these places. It leaves the inputs of the hidden
// units before ReLU in h.
func (n *NeuralNetwork) scoreCandidate(places []int32, h []float64) (sum float64) {
	copy(h, n.from)
	for _, p := range places {
		if n.usedPlaces[p] {
			sum += n.directWeights[p]
			for k, w := range n.hiddenWeights[p] {
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

// softmaxShares returns the softmax over the scores of the candidates: see model.ApplySoftmax.
func (n *NeuralNetwork) softmaxShares(candidates [][]int32) []float64 {
	scores, h := make([]float64, len(candidates)), make([]float64, len(n.from))
	for i, places := range candidates {
		scores[i] = n.scoreCandidate(places, h)
	}
	model.ApplySoftmax(scores)
	return scores
}

// learner trains one network with AdaGrad. The squares are the sums of the squared gradients of
// each weight so far.
type learner struct {
	NeuralNetwork
	Settings
	squaredGradients       []float64
	unitSquares            [][]float64
	fromSquares, toSquares []float64
	r                      *rand.Rand
	activePlaces           [][]int32   // places of each candidate of the current example after dropout
	h                      [][]float64 // inputs of the hidden units for each of these candidates
	hiddenGradients        []float64   // gradients of the inputs of the hidden units for one candidate
}

// newLearner returns a network with random weights around the hidden layer and direct weights of 0. A
// linear one has weights of 0 there too, and they stay so.
func (o Settings) newLearner(size int, known []bool, r *rand.Rand) *learner {
	rows := func(size int) [][]float64 {
		all := make([][]float64, size)
		for i := range all {
			all[i] = make([]float64, unitsPerNetwork)
		}
		return all
	}
	few := func() []float64 { return make([]float64, unitsPerNetwork) }
	l := &learner{Settings: o, NeuralNetwork: NeuralNetwork{make([]float64, size), rows(size), few(), few(), known}, squaredGradients: make([]float64, size), unitSquares: rows(size),
		fromSquares: few(), toSquares: few(), r: r, hiddenGradients: few()}
	if o.IsLinear {
		return l
	}
	for _, row := range l.hiddenWeights {
		for k := range row {
			row[k] = r.NormFloat64() * 0.1
		}
	}
	for k := range l.to {
		l.to[k] = r.NormFloat64() * 0.5
	}
	return l
}

// runEpochs runs stochastic gradient descent over all epochs, one example a step. It shuffles set.
func (l *learner) runEpochs(set []*Example) {
	for epoch := range epochCount {
		step := initialRate / (1 + float64(rateDecay*float64(epoch)))
		l.r.Shuffle(len(set), func(i, k int) { set[i], set[k] = set[k], set[i] })
		for _, e := range set {
			l.learnExample(e, step)
		}
	}
}

// learnExample makes one step on an example. The loss is the cross-entropy of the softmax; several
// candidates may have the right answer, and the loss counts the sum of their shares. Its gradient
// for the score of a candidate is the difference of its share and its target; very small gradients
// are skipped.
func (l *learner) learnExample(e *Example, step float64) {
	shares := l.forwardPass(e)
	right, weight := e.rightShare(shares), e.Weight
	if e.WantAnswer == "" {
		weight *= l.NoAnswerWeight
	}
	for i, share := range shares {
		target := 0.0
		if e.Answers[i] == e.WantAnswer && e.WantAnswer != "" {
			target = share / right
		}
		if slope := float64((share - target) * weight); math.Abs(slope) >= 1e-4 {
			l.backwardPass(l.activePlaces[i], l.h[i], slope, step)
		}
	}
}

// forwardPass does the forward pass with dropout: it leaves out each place of each candidate with
// probability InputDropout. It does not rescale the others, and inference uses all places without a
// factor.
func (l *learner) forwardPass(e *Example) []float64 {
	for len(l.activePlaces) < len(e.Places) {
		l.activePlaces, l.h = append(l.activePlaces, nil), append(l.h, make([]float64, unitsPerNetwork))
	}
	shares := make([]float64, len(e.Places))
	for i, places := range e.Places {
		l.activePlaces[i] = l.activePlaces[i][:0]
		for _, p := range places {
			if l.usedPlaces[p] && l.r.Float64() >= l.InputDropout {
				l.activePlaces[i] = append(l.activePlaces[i], p)
			}
		}
		shares[i] = l.scoreCandidate(l.activePlaces[i], l.h[i])
	}
	model.ApplySoftmax(shares)
	return shares
}

// backwardPass does the backward pass for one candidate, whose score has the gradient slope, and
// updates every weight that took part in the score. The gradients include weight decay, except for
// the biases.
func (l *learner) backwardPass(places []int32, h []float64, slope, step float64) {
	for k, x := range h {
		l.hiddenGradients[k] = 0
		if x > 0 {
			l.hiddenGradients[k] = float64(slope * l.to[k])
			updateWeight(&l.to[k], &l.toSquares[k], float64(slope*x)+float64(pullUnit*l.to[k]), step, 1e-2)
			updateWeight(&l.from[k], &l.fromSquares[k], l.hiddenGradients[k], step, 1e-2)
		}
	}
	for _, p := range places {
		updateWeight(&l.directWeights[p], &l.squaredGradients[p], slope+float64(weightDecay*l.directWeights[p]), step, 1e-3)
		row, squares := l.hiddenWeights[p], l.unitSquares[p]
		for k, s := range l.hiddenGradients {
			if s != 0 {
				updateWeight(&row[k], &squares[k], s+float64(pullUnit*row[k]), step, 1e-2)
			}
		}
	}
}

// updateWeight updates the weight x with one step of AdaGrad: the step is divided by the root of
// the sum of all squared gradients so far. least avoids a division by a very small number.
func updateWeight(x, squares *float64, slope, step, least float64) {
	*squares += float64(slope * slope)
	*x -= float64(step*slope) / math.Sqrt(*squares+least)
}

// usableExamples returns the examples that use accepts and that can be learned from: they have
// candidates, and if they have an answer, it is among these.
func usableExamples(all []*Example, use func(*Example) bool) (set []*Example) {
	for _, e := range all {
		if use(e) && len(e.Places) > 0 && (e.WantAnswer == "" || slices.Contains(e.Answers, e.WantAnswer)) {
			set = append(set, e)
		}
	}
	return set
}

// commonPlaces reports for each place whether at least rare families have it. A family counts again if
// its examples are not next to each other in set.
func commonPlaces(set []*Example, size int) []bool {
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
		known[p] = n >= minFamilies
	}
	return known
}
