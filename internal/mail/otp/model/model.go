// Package model weighs what is known of candidates: each has named features, each value of a feature a
// weight, and the sums decide between the candidates and none of them. What values say together is found by
// units, which sum them likewise and count from nothing up. It knows nothing of mail. A Model never changes
// once it is made; any goroutine may use it.
package model

import (
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

// Units is how many a model has.
const Units = 48

// Model holds the weights of the values: what each adds to the score, and to each unit.
type Model[V any] struct {
	features []Feature[V]
	bags     []Bag[V]
	first    []int // of each feature and each bag, the place of its first value that says something
	weights  []float32
	units    [][Units]float32
	from, to [Units]float32 // what a unit starts with, and what the score gets of each when it is above nothing

	Threshold float64 // least share of an answer
	curve     []knot  // of shares, ascending
	digest    string
}

// knot is a share and how often, on data that was not learned from, such answers were right.
type knot struct{ share, right float64 }

// maxPlaces bounds the weights of one candidate that are kept on the stack.
const maxPlaces = 256

// New makes a model of features, bags and a file of weights. It panics when these do not fit: they are parts of
// the program.
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

// part gives the name of a feature or a bag, and its values that say something.
func (m *Model[V]) part(i int) (name string, values []string) {
	if i < len(m.features) {
		return m.features[i].Name, m.features[i].Values[1:]
	}
	b := &m.bags[i-len(m.features)]
	return b.Name, b.Values
}

// read takes the lines of a file of weights: a value, what it adds to the score, and to the units.
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
			if place, known := at[name]; known { // features that are gone weigh nothing
				m.weights[place], m.units[place] = float32(number(words[1])), row(words[2:])
			}
		}
	}
}

// row reads what the units have.
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

// Digest tells which data the weights were made from.
func (m *Model[V]) Digest() string { return m.digest }

// Names gives the name of each place of a weight: "feature=value".
func (m *Model[V]) Names() (names []string) {
	for i := range m.first {
		name, values := m.part(i)
		for _, value := range values {
			names = append(names, name+"="+value)
		}
	}
	return names
}

// Places adds to all the place of each weight that counts for v.
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

// Score sums the weights of v and what its units have. "None" has 0.
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

// sum gives what the places add to the score, and to the units: four rows at a time, which takes half as long.
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

// Weighed is a value that counted, and how much.
type Weighed struct {
	Name   string
	Weight float64
}

// Explain gives what counted for v. The units that are above nothing tell what each value weighs beside the
// others, so that the sum of all is the score.
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
