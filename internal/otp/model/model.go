// Package model weighs what is known of candidates: each has named features, each value of a feature a
// weight, and the sums decide between the candidates and none of them. It knows nothing of mail. A Model
// never changes once it is made; any goroutine may use it.
package model

import (
	"fmt"
	"math"
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
	pairs    []pair
	first    []int // of each feature, the place of its second value
	weights  []float32

	Threshold float64 // least share of an answer
	curve     []knot  // of shares, ascending
	digest    string
}

// pair is two features whose values say more together.
type pair struct{ a, b, first, width int }

// knot is a share and how often, on data that was not learned from, such answers were right.
type knot struct{ share, right float64 }

// maxFeatures bounds the values that are kept on the stack.
const maxFeatures = 192

// New makes a model of features, pairs of their names, and a file of weights. It panics when these do not
// fit: they are parts of the program.
func New[V any](features []Feature[V], pairs [][2]string, file string) *Model[V] {
	m := &Model[V]{features: features}
	at, size := map[string]int{}, 0
	for i, f := range features {
		at[f.Name] = i
		m.first = append(m.first, size)
		size += len(f.Values) - 1
	}
	for _, names := range pairs {
		a, known := at[names[0]]
		b, known2 := at[names[1]]
		if !known || !known2 {
			panic(fmt.Sprintf("model: no features %q", names))
		}
		m.pairs = append(m.pairs, pair{a, b, size, len(features[b].Values) - 1})
		size += (len(features[a].Values) - 1) * (len(features[b].Values) - 1)
	}
	if len(features) > maxFeatures || len(at) != len(features) {
		panic("model: too many features, or two of one name")
	}
	m.weights = make([]float32, size)
	m.read(file)
	return m
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
	for _, f := range m.features {
		for _, value := range f.Values[1:] {
			names = append(names, f.Name+"="+value)
		}
	}
	for _, p := range m.pairs {
		a, b := &m.features[p.a], &m.features[p.b]
		for _, value := range a.Values[1:] {
			for _, other := range b.Values[1:] {
				names = append(names, a.Name+"="+value+" "+b.Name+"="+other)
			}
		}
	}
	return names
}

// Places calls use with the place of each weight that counts for v.
func (m *Model[V]) Places(v *V, use func(place int)) {
	var values [maxFeatures]int
	for i := range m.features {
		n := m.features[i].Of(v)
		if values[i] = n; n > 0 {
			use(m.first[i] + n - 1)
		}
	}
	for _, p := range m.pairs {
		if a, b := values[p.a], values[p.b]; a > 0 && b > 0 {
			use(p.first + (a-1)*p.width + b - 1)
		}
	}
}

// Score sums the weights of v. "None" has 0.
func (m *Model[V]) Score(v *V) (sum float64) {
	m.Places(v, func(place int) { sum += float64(m.weights[place]) })
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
