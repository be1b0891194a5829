package otp

import "testing"

// TestExplain checks that the explanation matches the result of Find.
func TestExplain(t *testing.T) {
	in := typical()
	all, threshold := ExplainCandidates(in)
	share := 0.0
	for _, e := range all {
		sum := 0.0
		for _, c := range e.FeatureContributions {
			sum += c.Weight
		}
		if d := sum - e.Score; d > 1e-3 || d < -1e-3 {
			t.Errorf("%s: weights add up to %.4f, want %.4f", e.Code, sum, e.Score)
		}
		if e.Code == FindCode(in).Code {
			share += e.SoftmaxShare
		}
	}
	if share < threshold {
		t.Errorf("the answer has a share of %.3f", share)
	}
}
