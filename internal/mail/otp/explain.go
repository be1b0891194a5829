package otp

import "inboxd/internal/mail/otp/model"

// Explained is a candidate with its score and the contribution of each feature.
type Explained struct {
	Code   string
	Source Source
	Share  float64         // softmax probability that it is the code, before calibration
	Score  float64         // sum of the contributions
	Counts []model.Weighed // contribution of each feature value to Score
}

// Explain returns every candidate that Find scores, in the order of the message, and the smallest
// share with which Find returns a code. It does not include declared codes: Find returns those
// without a score.
func Explain(in Input) (all []Explained, threshold float64) {
	s := new(search)
	in = in.own()
	s.same = sameWords(in.Text, in.Visible)
	s.read(in, !s.same)
	if s.speaks() {
		s.each(func(v *view) {
			score := codes.Score(v)
			s.scores = append(s.scores, score)
			all = append(all, Explained{Code: v.c.code(), Source: v.source, Score: score, Counts: codes.Explain(v)})
		})
	}
	model.Shares(s.scores)
	for i, share := range s.scores {
		all[i].Share = share
	}
	return all, codes.Threshold
}
