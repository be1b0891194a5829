// Package model weighs what is known of candidates: each has named features, each value of a feature a
// weight, and the sums decide between the candidates and none of them. It knows nothing of mail. A Model
// never changes once it is made; any goroutine may use it.
package model

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Feature is one thing that is known of a V: one of a few values, of which the first says nothing.
type Feature[V any] struct {
	Name   string
	Says   string // one sentence
	Values []string
	Of     func(*V) int // index of its value
}

// Bag is several things that may be known of a V at once: a bit for each of its values.
type Bag[V any] struct {
	Name   string
	Says   string
	Values []string
	Of     func(*V) uint64
}

// Yes is a feature that holds or does not.
func Yes[V any](name, says string, holds func(*V) bool) Feature[V] {
	return Feature[V]{name, says, []string{"", "yes"}, func(v *V) int {
		if holds(v) {
			return 1
		}
		return 0
	}}
}

// Count is a feature that tells how many there are, up to most.
func Count[V any](name, says string, most int, n func(*V) int) Feature[V] {
	values := []string{""}
	for i := 1; i <= most; i++ {
		values = append(values, strconv.Itoa(i))
	}
	return Feature[V]{name, says, values, func(v *V) int { return min(n(v), most) }}
}

// Grid is a feature whose values are those of several parts together, or the first value of the first part alone.
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

// Step gives the place of the first of the steps that n does not exceed.
func Step(n int, steps ...int) int {
	for i, s := range steps {
		if n <= s {
			return i
		}
	}
	return len(steps)
}

// Model holds the weights of the values, and of pairs of values.
type Model[V any] struct {
	features []Feature[V]
	bags     []Bag[V]
	pairs    []pair
	first    []int // of each feature and each bag, the place of its first value that says something
	weights  []float32

	Threshold float64 // least share of an answer
	curve     []knot  // of shares, ascending
	digest    string
}

// pair is a feature and another, or a bag, whose values say more together. Bags are counted on from the features.
type pair struct{ a, b, first, width int }

// knot is a share and how often, on data that was not learned from, such answers were right.
type knot struct{ share, right float64 }

// Bounds of the values that are kept on the stack.
const (
	maxFeatures = 96
	maxBags     = 16
)

// New makes a model of features, bags, pairs of their names, of which the first is a feature's, and a file of
// weights. It panics when these do not fit: they are parts of the program.
func New[V any](features []Feature[V], bags []Bag[V], pairs [][2]string, file string) *Model[V] {
	m := &Model[V]{features: features, bags: bags}
	at, size := map[string]int{}, 0
	for i := range len(features) + len(bags) {
		name, values := m.part(i)
		at[name] = i
		m.first = append(m.first, size)
		size += len(values)
	}
	for _, names := range pairs {
		a, known := at[names[0]]
		b, known2 := at[names[1]]
		if !known || !known2 || a >= len(features) {
			panic(fmt.Sprintf("model: no features %q", names))
		}
		_, values := m.part(a)
		_, others := m.part(b)
		m.pairs = append(m.pairs, pair{a, b, size, len(others)})
		size += len(values) * len(others)
	}
	if len(features) > maxFeatures || len(bags) > maxBags || len(at) != len(m.first) {
		panic("model: too many features, or two of one name")
	}
	m.weights = make([]float32, size)
	m.read(file)
	return m
}

// part gives the name of a feature or a bag, and its values that say something.
func (m *Model[V]) part(i int) (name string, values []string) {
	if i < len(m.features) {
		return m.features[i].Name, m.features[i].Values[1:]
	}
	b := &m.bags[i-len(m.features)]
	return b.Name, b.Values
}

// read takes the lines of a file of weights.
func (m *Model[V]) read(file string) {
	at := make(map[string]int, len(m.weights))
	for i, name := range m.Names() {
		at[name] = i
	}
	for line := range strings.Lines(file) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0][0] == '#':
		case words[0] == "data":
			m.digest = words[1]
		case words[0] == "threshold":
			m.Threshold = number(words[1])
		case words[0] == "right":
			m.curve = append(m.curve, knot{number(words[1]), number(words[2])})
		default:
			if place, known := at[strings.Join(words[1:], " ")]; known { // features that are gone weigh nothing
				m.weights[place] = float32(number(words[0]))
			}
		}
	}
}

func number(word string) float64 {
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic("model: " + err.Error())
	}
	return f
}

// Digest tells which data the weights were made from.
func (m *Model[V]) Digest() string { return m.digest }

// Names gives the name of each place of a weight: "feature=value", or two of them.
func (m *Model[V]) Names() (names []string) {
	for i := range m.first {
		name, values := m.part(i)
		for _, value := range values {
			names = append(names, name+"="+value)
		}
	}
	for _, p := range m.pairs {
		a, values := m.part(p.a)
		b, others := m.part(p.b)
		for _, value := range values {
			for _, other := range others {
				names = append(names, a+"="+value+" "+b+"="+other)
			}
		}
	}
	return names
}

// Places calls use with the place of each weight that counts for v.
func (m *Model[V]) Places(v *V, use func(place int)) {
	for _, p := range m.places(v, nil) {
		use(int(p))
	}
}

// places adds to all the place of each weight that counts for v.
func (m *Model[V]) places(v *V, all []int32) []int32 {
	var values [maxFeatures]int
	var sets [maxBags]uint64
	for i := range m.features {
		if values[i] = m.features[i].Of(v) - 1; values[i] >= 0 {
			all = append(all, int32(m.first[i]+values[i]))
		}
	}
	for i := range m.bags {
		sets[i] = m.bags[i].Of(v)
		all = each(all, sets[i], m.first[len(m.features)+i])
	}
	for i := range m.pairs {
		p := &m.pairs[i]
		a, b := values[p.a], p.b-len(m.features)
		switch {
		case a < 0:
		case b >= 0:
			all = each(all, sets[b], p.first+a*p.width)
		case values[p.b] >= 0:
			all = append(all, int32(p.first+a*p.width+values[p.b]))
		}
	}
	return all
}

// each adds the places of the bits of a set.
func each(all []int32, set uint64, first int) []int32 {
	for ; set != 0; set &= set - 1 {
		all = append(all, int32(first+bits.TrailingZeros64(set)))
	}
	return all
}

// Score sums the weights of v. "None" has 0.
func (m *Model[V]) Score(v *V) (sum float64) {
	var room [512]int32
	for _, p := range m.places(v, room[:0]) {
		sum += float64(m.weights[p])
	}
	return sum
}

// Weighed is a weight that counted, and what for.
type Weighed struct {
	Name   string
	Weight float64
}

// Explain gives what counted for v.
func (m *Model[V]) Explain(v *V) (all []Weighed) {
	names := m.Names()
	m.Places(v, func(place int) {
		if w := m.weights[place]; w != 0 {
			all = append(all, Weighed{names[place], float64(w)})
		}
	})
	return all
}

// Right gives how often an answer with this share is right.
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

// Shares turns scores into the probabilities of candidates of which at most one is meant.
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
