package otp

import "inboxd/internal/mail/otp/model"

// ScoredCandidate is a candidate with its score and the contribution of each feature.
type ScoredCandidate struct {
	Code                 string
	Source               Source
	SoftmaxShare         float64                     // softmax probability that it is the code, before calibration
	Score                float64                     // sum of the contributions
	FeatureContributions []model.FeatureContribution // contribution of each feature value to Score
}

// Explanation says how FindCode came to its answer.
type Explanation struct {
	Candidates []ScoredCandidate // in the order of the message
	Threshold  float64           // smallest share of a code that is the answer
	Answer     CodeResult
}

// ExplainCode returns the answer of FindCode with every candidate that it scores. Declared codes have
// no score.
func ExplainCode(in Input) Explanation {
	s, x := new(searchState), Explanation{Answer: FindCode(in)}
	in = in.withoutQuotes()
	s.textsMatch = sameWords(in.Text, in.VisibleText)
	s.readPages(in, !s.textsMatch)
	s.eachCandidate(func(v *candidateView) {
		score := codeModel.Score(v)
		s.scores = append(s.scores, score)
		x.Candidates = append(x.Candidates, ScoredCandidate{Code: v.c.codeString(), Source: v.source, Score: score, FeatureContributions: codeModel.ExplainScore(v)})
	})
	x.Threshold = s.threshold()
	shown := s.shownCount()
	model.ApplySoftmax(s.scores[:shown])
	model.ApplySoftmax(s.scores[shown:])
	for i, share := range s.scores {
		x.Candidates[i].SoftmaxShare = share
	}
	return x
}
