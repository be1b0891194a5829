package train

import (
	"fmt"
	"math"
	"testing"

	"inboxd/internal/mail/otp/model"
)

// mark is a candidate with two features.
type mark struct{ red, round bool }

var marks = []model.Feature[mark]{
	model.BooleanFeature("red", "It is red.", func(m *mark) bool { return m.red }),
	model.BooleanFeature("round", "It is round.", func(m *mark) bool { return m.round }),
	model.BooleanFeature("there", "It is there.", func(*mark) bool { return true }),
}

// TestLearn checks that the network learns XOR, which needs the hidden layer, that the training is
// deterministic, and that the model of the written file gives the same results as the network.
func TestLearn(t *testing.T) {
	m := model.New(marks, nil, "")
	all := []mark{{false, false}, {true, false}, {false, true}, {true, true}}
	want := func(c mark) string {
		if c.red != c.round {
			return "yes"
		}
		return ""
	}
	var examples []*Example
	for i := range 400 {
		c := all[i%4]
		examples = append(examples, &Example{Family: fmt.Sprint("f", i), Weight: 1, Answers: []string{"yes"}, Places: [][]int32{m.ActivePlaces(&c, nil)}, WantAnswer: want(c)})
	}
	net := Settings{NoAnswerWeight: 1}.TrainNetwork(examples, len(m.PlaceNames()), func(*Example) bool { return true })
	file := FormatWeights("x", m.PlaceNames(), net, 0.5, nil)
	if again := FormatWeights("x", m.PlaceNames(), Settings{NoAnswerWeight: 1}.TrainNetwork(examples, len(m.PlaceNames()), func(*Example) bool { return true }), 0.5, nil); string(again) != string(file) {
		t.Error("the same mails give other weights")
	}
	m = model.New(marks, nil, string(file))
	for _, c := range all {
		score := m.Score(&c)
		if share := net.softmaxShares([][]int32{m.ActivePlaces(&c, nil)})[0]; (share > 0.5) != (want(c) == "yes") || (score > 0) != (share > 0.5) {
			t.Errorf("%+v: share %.2f, score %.2f", c, share, score)
		}
		sum := 0.0
		for _, w := range m.ExplainScore(&c) {
			sum += w.Weight
		}
		if math.Abs(sum-score) > 1e-4 {
			t.Errorf("%+v: what counted sums to %f, the score is %f", c, sum, score)
		}
	}
}

// TestLeaveOut checks that the training for a fold leaves out its examples, and those whose lender
// is in it.
func TestLeaveOut(t *testing.T) {
	lender := &Example{Family: "lender", Weight: 1, Answers: []string{"a"}, Places: [][]int32{{0}}, WantAnswer: "a"}
	all := []*Example{lender}
	for i := range 60 {
		all = append(all, &Example{Family: fmt.Sprint("made", i), IncludedExample: lender, Weight: 1, Answers: []string{"a"}, Places: [][]int32{{0}}, WantAnswer: "a"})
	}
	for _, o := range (Settings{NoAnswerWeight: 1}).LeaveOut(all, 1, func(e *Example) string { return e.Family }) {
		if o.Example == lender && o.Share > 0.6 {
			t.Errorf("the share of what was left out is %.2f", o.Share)
		}
	}
}
