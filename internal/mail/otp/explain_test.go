package otp

import "testing"

// TestExplain checks that the explanation matches the result of Find.
func TestExplain(t *testing.T) {
	in := typical()
	x := ExplainCode(in)
	share := 0.0
	for _, e := range x.Candidates {
		sum := 0.0
		for _, c := range e.FeatureContributions {
			sum += c.Weight
		}
		if d := sum - e.Score; d > 1e-3 || d < -1e-3 {
			t.Errorf("%s: weights add up to %.4f, want %.4f", e.Code, sum, e.Score)
		}
		if e.Code == x.Answer.Code {
			share += e.SoftmaxShare
		}
	}
	if x.Answer.Code != "482913" || share < x.Threshold {
		t.Errorf("the answer is %q with a share of %.3f", x.Answer.Code, share)
	}
}
