// Package model scores candidates with a small neural network. Each candidate has named categorical
// features, encoded one-hot. The network has one hidden layer of Units ReLU units, and in addition
// a direct linear connection from the features to the score (a skip connection). The softmax over
// the scores of all candidates, and of the alternative "none of them" with score 0, gives each a
// share. A candidate whose share reaches the threshold is the answer, and the calibration curve
// turns its share into a confidence.
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
	Name   string
	Says   string // description, one sentence
	Values []string
	Of     func(*V) int // index into Values
}

// Bag is a multi-valued feature of a V: it has any subset of Values. All of them have a weight.
type Bag[V any] struct {
	Name   string
	Says   string // description, one sentence
	Values []string
	Of     func(*V) uint64 // bit i is set for Values[i]
}

// Yes returns a boolean feature.
func Yes[V any](name, says string, holds func(*V) bool) Feature[V] {
	return Feature[V]{name, says, []string{"", "yes"}, func(v *V) int {
		if holds(v) {
			return 1
		}
		return 0
	}}
}

// Count returns a feature whose value is a number from 0 to most; larger numbers count as most.
func Count[V any](name, says string, most int, n func(*V) int) Feature[V] {
	values := []string{""}
	for i := 1; i <= most; i++ {
		values = append(values, strconv.Itoa(i))
	}
	return Feature[V]{name, says, values, func(v *V) int { return min(n(v), most) }}
}

// Grid returns the cross product of several features as one feature. If the first part has its
// first value, the other parts do not count.
func Grid[V any](name, says string, parts ...Feature[V]) Feature[V] {
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

// Step returns the index of the first of the ascending steps that n does not exceed, or len(steps).
// It puts a number into a bucket.
func Step(n int, steps ...int) int {
	for i, s := range steps {
		if n <= s {
			return i
		}
	}
	return len(steps)
}

// Units is the number of units in the hidden layer.
const Units = 48

// Model is a trained network. An index into weights and units is called a place: one value of one
// feature, in the order of Names.
type Model[V any] struct {
	features []Feature[V]
	bags     []Bag[V]
	first    []int            // for each feature and then each bag, the place of its first value with a weight
	weights  []float32        // for each place, the weight of the direct connection to the score
	units    [][Units]float32 // for each place, its weights into the hidden layer
	from, to [Units]float32   // biases of the hidden units, and their weights into the score

	Threshold float64 // smallest share with which a candidate is the answer
	curve     []knot  // calibration curve, by ascending share
	digest    string
}

// knot is a point of the calibration curve: a share, and a lower bound of the probability that an
// answer with this share is right, measured on held-out folds.
type knot struct{ share, right float64 }

// maxPlaces is the largest number of places of one candidate that fit into an array on the stack.
// Places allocates if there are more.
const maxPlaces = 256

// New makes a model from features, bags and a file of weights. It panics if they do not fit
// together, since they are part of the program. An empty file gives a model with all weights 0, for
// training.
func New[V any](features []Feature[V], bags []Bag[V], file string) *Model[V] {
	m := &Model[V]{features: features, bags: bags}
	known, size := map[string]bool{}, 0
	for i := range len(features) + len(bags) {
		name, values := m.part(i)
		known[name] = true
		m.first = append(m.first, size)
		size += len(values)
	}
	if len(known) != len(m.first) {
		panic("model: two features of one name")
	}
	m.weights, m.units = make([]float32, size), make([][Units]float32, size)
	m.read(file)
	return m
}

// part returns the name of feature or bag i, and its values that have a weight.
func (m *Model[V]) part(i int) (name string, values []string) {
	if i < len(m.features) {
		return m.features[i].Name, m.features[i].Values[1:]
	}
	b := &m.bags[i-len(m.features)]
	return b.Name, b.Values
}

// read parses a file of weights. A line of a feature value has its direct weight and its weights
// into the hidden layer; the lines "from" and "to" have the biases and the output weights of that
// layer.
func (m *Model[V]) read(file string) {
	at := make(map[string]int, len(m.weights))
	for i, name := range m.Names() {
		at[name] = i
	}
	for line := range strings.Lines(file) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		switch name := words[0]; name {
		case "data":
			m.digest = words[1]
		case "threshold":
			m.Threshold = number(words[1])
		case "right":
			m.curve = append(m.curve, knot{number(words[1]), number(words[2])})
		case "from":
			m.from = row(words[1:])
		case "to":
			m.to = row(words[1:])
		default:
			if place, known := at[name]; known { // ignore features that were removed since the training
				m.weights[place], m.units[place] = float32(number(words[1])), row(words[2:])
			}
		}
	}
}

// row parses one weight for each unit.
func row(words []string) (all [Units]float32) {
	if len(words) != Units {
		panic("model: not as many words as units")
	}
	for i, word := range words {
		all[i] = float32(number(word))
	}
	return all
}

func number(word string) float64 {
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic("model: " + err.Error())
	}
	return f
}

// Digest returns the digest of the training data of the weights.
func (m *Model[V]) Digest() string { return m.digest }

// Names returns the name of each place: "feature=value".
func (m *Model[V]) Names() (names []string) {
	for i := range m.first {
		name, values := m.part(i)
		for _, value := range values {
			names = append(names, name+"="+value)
		}
	}
	return names
}

// Places appends to all the places that are active for v, which is its one-hot encoding.
func (m *Model[V]) Places(v *V, all []int32) []int32 {
	for i := range m.features {
		if value := m.features[i].Of(v) - 1; value >= 0 {
			all = append(all, int32(m.first[i]+value))
		}
	}
	for i := range m.bags {
		first := m.first[len(m.features)+i]
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
	sum, units := m.sum(m.Places(v, room[:0]))
	for i, u := range units {
		if u > 0 {
			sum += float32(u * m.to[i])
		}
	}
	return float64(sum)
}

// sum returns the direct part of the score, and the inputs of the hidden units before ReLU. The
// loop adds four rows at a time, which halves its time.
func (m *Model[V]) sum(places []int32) (sum float32, units [Units]float32) {
	units = m.from
	for _, p := range places {
		sum += m.weights[p]
	}
	for ; len(places) >= 4; places = places[4:] {
		a, b, c, d := &m.units[places[0]], &m.units[places[1]], &m.units[places[2]], &m.units[places[3]]
		for i := range units {
			units[i] += a[i] + b[i] + c[i] + d[i]
		}
	}
	for _, p := range places {
		for i, w := range &m.units[p] {
			units[i] += w
		}
	}
	return sum, units
}

// Weighed is a feature value and its contribution to a score.
type Weighed struct {
	Name   string
	Weight float64
}

// Explain returns the contribution of each active feature value of v; their sum is the score. ReLU
// is linear for the active units, so the contribution through the hidden layer is exact for this v.
func (m *Model[V]) Explain(v *V) (all []Weighed) {
	names, places := m.Names(), m.Places(v, nil)
	_, units := m.sum(places)
	weigh := func(name string, weight float32, row *[Units]float32) {
		for i, u := range units {
			if u > 0 {
				weight += float32(row[i] * m.to[i])
			}
		}
		all = append(all, Weighed{name, float64(weight)})
	}
	weigh("always", 0, &m.from)
	for _, p := range places {
		weigh(names[p], m.weights[p], &m.units[p])
	}
	return all
}

// Right returns the confidence of an answer with this share: the calibration curve, interpolated
// linearly.
func (m *Model[V]) Right(share float64) float64 {
	low := knot{0, 0}
	for _, high := range m.curve {
		if share < high.share {
			return low.right + (high.right-low.right)*(share-low.share)/(high.share-low.share)
		}
		low = high
	}
	return low.right
}

// Shares replaces scores by their softmax, with "none of the candidates" as one more class of score
// 0. The shares therefore sum to less than 1.
func Shares(scores []float64) {
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
