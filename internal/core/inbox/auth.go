package inbox

// Auth is the result of authenticating a received message, in the words of RFC 8601 section 2.7
// (specification, Messages). The zero Auth: not checked.
type Auth struct {
	CheckingServer string // the checking server: the authserv-id of RFC 8601 section 2.5
	SPF            AuthResult
	DKIM           AuthResult // of the best signature
	DMARC          AuthResult
	HELO           bool // SPF is about the HELO name, because the envelope sender is null
	Signatures     []AuthSignature
	// FromVerified means that the message comes from the domain of its From. Either DMARC passes,
	// or From's domain has no DMARC record and DKIM or SPF passes for it.
	FromVerified bool
}

// AuthResult is the result of one method and the domain that it is about; empty: none.
type AuthResult struct {
	ResultKeyword string
	Domain        string
}

// AuthSignature is one DKIM signature. The best comes first.
type AuthSignature struct {
	Word      string
	Domain    string
	Selector  string
	Algorithm string
}
