package inbox

// Auth says who vouches for a received mail, in the words of RFC 8601 section 2.7
// (specification, Messages). The zero Auth: nobody asked.
type Auth struct {
	Server     string // who asked: the authserv-id of RFC 8601 section 2.5
	SPF        AuthResult
	DKIM       AuthResult // of the best signature
	DMARC      AuthResult
	HELO       bool // SPF is about the HELO name, for the sender is null
	Signatures []AuthSignature
	// FromVerified says that the message comes from the domain of its From: DMARC passes, or From's domain
	// has no DMARC record and DKIM or SPF passes for it.
	FromVerified bool
}

// AuthResult is the word of one method, and the domain that it is about; empty: none.
type AuthResult struct {
	Word   string
	Domain string
}

// AuthSignature is one DKIM signature, the best first.
type AuthSignature struct {
	Word      string
	Domain    string
	Selector  string
	Algorithm string
}
