package persist

import "inboxd/internal/inbox"

// The integer keys of this record are on disk: append only; never reorder or reuse.

type authRecord struct {
	Server     string            `cbor:"1,keyasint,omitempty"`
	SPF        authResultRecord  `cbor:"2,keyasint"`
	DKIM       authResultRecord  `cbor:"3,keyasint"`
	DMARC      authResultRecord  `cbor:"4,keyasint"`
	HELO       bool              `cbor:"5,keyasint,omitempty"`
	Signatures []signatureRecord `cbor:"6,keyasint,omitempty"`
}

type authResultRecord struct {
	_      struct{} `cbor:",toarray"`
	Word   string
	Domain string
}

type signatureRecord struct {
	Word      string `cbor:"1,keyasint"`
	Domain    string `cbor:"2,keyasint,omitempty"`
	Selector  string `cbor:"3,keyasint,omitempty"`
	Algorithm string `cbor:"4,keyasint,omitempty"`
}

func recordResult(r inbox.AuthResult) authResultRecord {
	return authResultRecord{Word: r.Word, Domain: r.Domain}
}
func (r authResultRecord) result() inbox.AuthResult {
	return inbox.AuthResult{Word: r.Word, Domain: r.Domain}
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
