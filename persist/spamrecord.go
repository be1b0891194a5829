package persist

import "inboxd/internal/inbox"

// The integer keys are on disk: append only; never reorder or reuse.

// spamRecord is in a contentRecord. Its zero numbers are results: nothing is left out.
type spamRecord struct {
	Score    float64          `cbor:"1,keyasint"`
	Required float64          `cbor:"2,keyasint"`
	IsSpam   bool             `cbor:"3,keyasint,omitempty"`
	Rules    []spamRuleRecord `cbor:"4,keyasint,omitempty"`
}

// A rule is a row without keys: a mail has many, and they won't grow.
type spamRuleRecord struct {
	_           struct{} `cbor:",toarray"`
	Name        string
	Weight      float64
	Description string
}

func recordSpam(s *inbox.Spam) *spamRecord {
	if s == nil {
		return nil
	}
	return &spamRecord{Score: s.Score, Required: s.Required, IsSpam: s.IsSpam, Rules: convert(s.Rules, recordSpamRule)}
}

func (r *spamRecord) spam() *inbox.Spam {
	if r == nil {
		return nil
	}
	return &inbox.Spam{Score: r.Score, Required: r.Required, IsSpam: r.IsSpam, Rules: convert(r.Rules, spamRuleRecord.rule)}
}

func recordSpamRule(r inbox.SpamRule) spamRuleRecord {
	return spamRuleRecord{Name: r.Name, Weight: r.Weight, Description: r.Description}
}
func (r spamRuleRecord) rule() inbox.SpamRule {
	return inbox.SpamRule{Name: r.Name, Weight: r.Weight, Description: r.Description}
}
