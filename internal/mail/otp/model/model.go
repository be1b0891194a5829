// Package model scores candidates with a small neural network. Each candidate has named categorical
// features, encoded one-hot. The network has one hidden layer of HiddenUnits ReLU units, and in
// addition a direct linear connection from the features to the score (a skip connection). The
// softmax over the scores of all candidates, and of the alternative "none of them" with score 0,
// gives each a share. A candidate whose share reaches the threshold is the answer, and the
// calibration curve turns its share into a confidence.
//
// The hidden layer is an ensemble: package train trains several smaller networks and joins their
// hidden units in one layer. Training uses dropout on the input and weight decay; neither has an
// effect here.
//
// The package does not know what a message is. A Model is immutable after New, and any goroutine
// may use it.
package model

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Feature is a categorical feature of a V: it has exactly one of Values. The first value is the
// default, which has no weight.
type Feature[V any] struct {
	Name     string
	HelpText string // description, one sentence
	Values   []string
	Of       func(*V) int // index into Values
}

// BagFeature is a multi-valued feature of a V: it has any subset of Values. All of them have a weight.
type BagFeature[V any] struct {
	Name     string
	HelpText string // description, one sentence
	Values   []string
	Of       func(*V) uint64 // bit i is set for Values[i]
}

// BooleanFeature returns a boolean feature.
func BooleanFeature[V any](name, says string, holds func(*V) bool) Feature[V] {
	return Feature[V]{name, says, []string{"", "yes"}, func(v *V) int {
		if holds(v) {
			return 1
		}
		return 0
	}}
}

// CountFeature returns a feature whose value is a number from 0 to most; larger numbers count as most.
func CountFeature[V any](name, says string, most int, n func(*V) int) Feature[V] {
	values := []string{""}
	for i := 1; i <= most; i++ {
		values = append(values, strconv.Itoa(i))
	}
	return Feature[V]{name, says, values, func(v *V) int { return min(n(v), most) }}
}

// CrossProduct returns the cross product of several features as one feature. If the first part has its
// first value, the other parts do not count.
func CrossProduct[V any](name, says string, parts ...Feature[V]) Feature[V] {
	values := parts[0].Values[1:]
	for _, part := range parts[1:] {
		var longer []string
		for _, value := range values {
			for _, end := range part.Values {
				longer = append(longer, strings.TrimSuffix(value+","+end, ","))
			}
		}
		values = longer
	}
	return Feature[V]{name, says, append([]string{"", parts[0].Values[0]}, values...), func(v *V) int {
		at := parts[0].Of(v) - 1
		if at < 0 {
			return 1
		}
		for _, part := range parts[1:] {
			at = at*len(part.Values) + part.Of(v)
		}
		return at + 2
	}}
}

// BucketIndex returns the index of the first of the ascending steps that n does not exceed, or
// len(steps). It puts a number into a bucket.
func BucketIndex(n int, steps ...int) int {
	for i, s := range steps {
		if n <= s {
			return i
		}
	}
	return len(steps)
}

// HiddenUnits is the number of units in the hidden layer.
const HiddenUnits = 48

// Model is a trained network. An index into weights and units is called a place: one value of one
// feature, in the order of PlaceNames.
type Model[V any] struct {
	features      []Feature[V]
	bags          []BagFeature[V]
	firstPlaces   []int                  // for each feature and then each bag, the place of its first value with a weight
	directWeights []float32              // for each place, the weight of the direct connection to the score
	hiddenWeights [][HiddenUnits]float32 // for each place, its weights into the hidden layer
	from, to      [HiddenUnits]float32   // biases of the hidden units, and their weights into the score

	Threshold        float64            // smallest share with which a candidate is the answer
	CrowdedThreshold float64            // ... among many candidates; the caller says how many these are
	calibrationCurve []calibrationPoint // calibration curve, by ascending share
	dataDigest       string
}

// calibrationPoint is a point of the calibration curve: a share, and a lower bound of the
// probability that an answer with this share is right, measured on held-out folds.
type calibrationPoint struct{ share, lowerBound float64 }

// maxPlaces is the largest number of places of one candidate that fit into an array on the stack.
// Places allocates if there are more.
const maxPlaces = 256

// New makes a model from features, bags and a file of weights. It panics if they do not fit
// together, since they are part of the program. An empty file gives a model with all weights 0, for
// training.
func New[V any](features []Feature[V], bags []BagFeature[V], file string) *Model[V] {
	m := &Model[V]{features: features, bags: bags}
	known, size := map[string]bool{}, 0
	for i := range len(features) + len(bags) {
		name, values := m.featureAt(i)
		known[name] = true
		m.firstPlaces = append(m.firstPlaces, size)
		size += len(values)
	}
	if len(known) != len(m.firstPlaces) {
		panic("model: two features of one name")
	}
	m.directWeights, m.hiddenWeights = make([]float32, size), make([][HiddenUnits]float32, size)
	m.readWeights(file)
	return m
}

// featureAt returns the name of feature or bag i, and its values that have a weight.
func (m *Model[V]) featureAt(i int) (name string, values []string) {
	if i < len(m.features) {
		return m.features[i].Name, m.features[i].Values[1:]
	}
	b := &m.bags[i-len(m.features)]
	return b.Name, b.Values
}

// readWeights parses a file of weights. A line of a feature value has its direct weight and its weights
// into the hidden layer; the lines "from" and "to" have the biases and the output weights of that
// layer.
func (m *Model[V]) readWeights(file string) {
	at := make(map[string]int, len(m.directWeights))
	for i, name := range m.PlaceNames() {
		at[name] = i
	}
	for line := range strings.Lines(file) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		switch name := words[0]; name {
		case "data":
			m.dataDigest = words[1]
		case "threshold":
			m.Threshold = parseWeight(words[1])
		case "crowded":
			m.CrowdedThreshold = parseWeight(words[1])
		case "right":
			m.calibrationCurve = append(m.calibrationCurve, calibrationPoint{parseWeight(words[1]), parseWeight(words[2])})
		case "from":
			m.from = parseRow(words[1:])
		case "to":
			m.to = parseRow(words[1:])
		default:
			if place, known := at[name]; known { // ignore features that were removed since the training
				m.directWeights[place], m.hiddenWeights[place] = float32(parseWeight(words[1])), parseRow(words[2:])
			}
		}
	}
}

// parseRow parses one weight for each unit.
func parseRow(words []string) (all [HiddenUnits]float32) {
	if len(words) != HiddenUnits {
		panic("model: not as many words as units")
	}
	for i, word := range words {
		all[i] = float32(parseWeight(word))
	}
	return all
}

func parseWeight(word string) float64 {
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic("model: " + err.Error())
	}
	return f
}

// DataDigest returns the digest of the training data of the weights.
func (m *Model[V]) DataDigest() string { return m.dataDigest }

// PlaceNames returns the name of each place: "feature=value".
func (m *Model[V]) PlaceNames() (names []string) {
	for i := range m.firstPlaces {
		name, values := m.featureAt(i)
		for _, value := range values {
			names = append(names, name+"="+value)
		}
	}
	return names
}

// ActivePlaces appends to all the places that are active for v, which is its one-hot encoding.
func (m *Model[V]) ActivePlaces(v *V, all []int32) []int32 {
	for i := range m.features {
		if value := m.features[i].Of(v) - 1; value >= 0 {
			all = append(all, int32(m.firstPlaces[i]+value))
		}
	}
	for i := range m.bags {
		first := m.firstPlaces[len(m.features)+i]
		for set := m.bags[i].Of(v); set != 0; set &= set - 1 {
			all = append(all, int32(first+bits.TrailingZeros64(set)))
		}
	}
	return all
}

// Score returns the score of v: the sum of its direct weights and of the output of the hidden
// layer. The alternative "none of the candidates" has score 0.
func (m *Model[V]) Score(v *V) float64 {
	var room [maxPlaces]int32
	sum, units := m.directSum(m.ActivePlaces(v, room[:0]))
	for i, u := range units {
		if u > 0 {
			sum += float32(u * m.to[i])
		}
	}
	return float64(sum)
}

// directSum returns the direct part of the score, and the inputs of the hidden units before ReLU. The
// loop adds four rows at a time, which halves its time.
func (m *Model[V]) directSum(places []int32) (sum float32, units [HiddenUnits]float32) {
	units = m.from
	for _, p := range places {
		sum += m.directWeights[p]
	}
	for ; len(places) >= 4; places = places[4:] {
		a, b, c, d := &m.hiddenWeights[places[0]], &m.hiddenWeights[places[1]], &m.hiddenWeights[places[2]], &m.hiddenWeights[places[3]]
		for i := range units {
			units[i] += a[i] + b[i] + c[i] + d[i]
		}
	}
	for _, p := range places {
		for i, w := range &m.hiddenWeights[p] {
			units[i] += w
		}
	}
	return sum, units
}

// FeatureContribution is a feature value and its contribution to a score.
type FeatureContribution struct {
	Name   string
	Weight float64
}

// ExplainScore returns the contribution of each active feature value of v; their sum is the score. ReLU
// is linear for the active units, so the contribution through the hidden layer is exact for this v.
func (m *Model[V]) ExplainScore(v *V) (all []FeatureContribution) {
	names, places := m.PlaceNames(), m.ActivePlaces(v, nil)
	_, units := m.directSum(places)
	weigh := func(name string, weight float32, row *[HiddenUnits]float32) {
		for i, u := range units {
			if u > 0 {
				weight += float32(row[i] * m.to[i])
			}
		}
		all = append(all, FeatureContribution{name, float64(weight)})
	}
	weigh("always", 0, &m.from)
	for _, p := range places {
		weigh(names[p], m.directWeights[p], &m.hiddenWeights[p])
	}
	return all
}

// ConfidenceAt returns the confidence of an answer with this share: the calibration curve, interpolated
// linearly.
func (m *Model[V]) ConfidenceAt(share float64) float64 {
	low := calibrationPoint{0, 0}
	for _, high := range m.calibrationCurve {
		if share < high.share {
			return low.lowerBound + (high.lowerBound-low.lowerBound)*(share-low.share)/(high.share-low.share)
		}
		low = high
	}
	return low.lowerBound
}

// ApplySoftmax replaces scores by their softmax, with "none of the candidates" as one more class of
// score
// 0. The shares therefore sum to less than 1.
func ApplySoftmax(scores []float64) {
	most := 0.0
	for _, s := range scores {
		most = max(most, s)
	}
	sum := math.Exp(-most)
	for i, s := range scores {
		scores[i] = math.Exp(s - most)
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
}
