package otp

import "inboxd/internal/mail/otp/model"

// Explained is a candidate with what counted for and against it.
type Explained struct {
	Code   string
	Source Source
	Share  float64 // the probability that it is the code, before it was calibrated
	Score  float64 // sum of the weights
	Counts []model.Weighed
}

// Explain gives every candidate that Find weighs, in the order of the mail, and the least share of an
// answer. Declared codes are no candidates: they win unweighed.
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
