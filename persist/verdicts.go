package persist

import "inboxd/internal/inbox"

// The integer keys of these records are on disk: append only; never reorder or reuse.

type authRecord struct {
	Server     string            `cbor:"1,keyasint,omitempty"`
	SPF        authResultRecord  `cbor:"2,keyasint"`
	DKIM       authResultRecord  `cbor:"3,keyasint"`
	DMARC      authResultRecord  `cbor:"4,keyasint"`
	HELO       bool              `cbor:"5,keyasint,omitempty"`
	Signatures []signatureRecord `cbor:"6,keyasint,omitempty"`
}

// authResultRecord is a word and a domain, a pair without keys.
type authResultRecord [2]string

type signatureRecord struct {
	Word      string `cbor:"1,keyasint"`
	Domain    string `cbor:"2,keyasint,omitempty"`
	Selector  string `cbor:"3,keyasint,omitempty"`
	Algorithm string `cbor:"4,keyasint,omitempty"`
}

func recordResult(r inbox.AuthResult) authResultRecord {
	return authResultRecord{r.Word, r.Domain}
}
func (r authResultRecord) result() inbox.AuthResult {
	return inbox.AuthResult{Word: r[0], Domain: r[1]}
}
func recordSignature(s inbox.AuthSignature) signatureRecord { return signatureRecord(s) }
func (r signatureRecord) signature() inbox.AuthSignature    { return inbox.AuthSignature(r) }

func (r *authRecord) from(a *inbox.Auth) {
	*r = authRecord{
		Server: a.Server, SPF: recordResult(a.SPF), DKIM: recordResult(a.DKIM), DMARC: recordResult(a.DMARC),
		HELO: a.HELO, Signatures: convert(a.Signatures, recordSignature),
	}
}

func (r *authRecord) auth() inbox.Auth {
	return inbox.Auth{
		Server: r.Server, SPF: r.SPF.result(), DKIM: r.DKIM.result(), DMARC: r.DMARC.result(),
		HELO: r.HELO, Signatures: convert(r.Signatures, signatureRecord.signature),
	}
}

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

func recordSpam(s inbox.Spam) spamRecord {
	return spamRecord{Score: s.Score, Required: s.Required, IsSpam: s.IsSpam, Rules: convert(s.Rules, recordSpamRule)}
}

func (r spamRecord) spam() inbox.Spam {
	return inbox.Spam{Score: r.Score, Required: r.Required, IsSpam: r.IsSpam, Rules: convert(r.Rules, spamRuleRecord.rule)}
}

func recordSpamRule(r inbox.SpamRule) spamRuleRecord {
	return spamRuleRecord{Name: r.Name, Weight: r.Weight, Description: r.Description}
}
func (r spamRuleRecord) rule() inbox.SpamRule {
	return inbox.SpamRule{Name: r.Name, Weight: r.Weight, Description: r.Description}
}
