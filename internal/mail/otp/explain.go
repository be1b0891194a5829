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

// ExplainCandidates returns every candidate that Find scores, in the order of the message, and the
// smallest share with which Find returns a code. It does not include declared codes: Find returns
// those without a score.
func ExplainCandidates(in Input) (all []ScoredCandidate, threshold float64) {
	s := new(searchState)
	in = in.withoutQuotes()
	s.textsMatch = sameWords(in.Text, in.VisibleText)
	s.readPages(in, !s.textsMatch)
	if s.canAnnounceCode() {
		s.eachCandidate(func(v *candidateView) {
			score := codeModel.Score(v)
			s.scores = append(s.scores, score)
			all = append(all, ScoredCandidate{Code: v.c.codeString(), Source: v.source, Score: score, FeatureContributions: codeModel.ExplainScore(v)})
		})
	}
	model.ApplySoftmax(s.scores)
	for i, share := range s.scores {
		all[i].SoftmaxShare = share
	}
	return all, codeModel.Threshold
}
