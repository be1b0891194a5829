package ingest

import (
	"slices"
	"strings"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/otp"
)

// AuthVerdict is the authentication result of a message, determined before it is parsed. The zero
// Verdict: not checked, not authenticated.
type AuthVerdict struct {
	Auth inbox.Auth
	// SignsFor reports whether a DKIM signature authenticates the mailboxes of domain and signs
	// every instance of the header fields in covered; nil: none does.
	SignsFor func(domain string, covered ...string) bool
	// FromAligned means that DKIM or SPF passes for From's organizational domain. SPFVouches means
	// that SPF passes for From's domain or an ancestor of it. Both are false unless there is
	// exactly one From.
	FromAligned, SPFVouches bool
	// FailsDMARC means that From fails DMARC, and that its domain's policy is to quarantine or reject
	// such messages.
	FailsDMARC bool
}

// isSignedFor is SignsFor, also for the zero Verdict.
func (v AuthVerdict) isSignedFor(domain string, covered []string) bool {
	return domain != "" && v.SignsFor != nil && v.SignsFor(domain, covered...)
}

const authResults = "Authentication-Results"

// showAuth puts this node's own Authentication-Results at the top of the header fields, and removes
// those that claim to be its own, because nobody else may use its name (RFC 8601 section 5). The
// raw message stays as received. doc was just parsed and is not shared yet.
func showAuth(doc *message.ParsedMessage, auth *inbox.Auth) {
	if auth.CheckingServer == "" {
		return
	}
	others := slices.DeleteFunc(doc.Headers, func(h message.Header) bool {
		return strings.EqualFold(h.Name, authResults) && speaksFor(h.Value, auth.CheckingServer)
	})
	doc.Headers = slices.Insert(others, 0, message.Header{Name: authResults, Value: authText(auth)})
}

// speaksFor reports whether the authserv-id at the start of value is server or a subdomain of it.
func speaksFor(value, server string) bool {
	id := strings.ToLower(authservID(value))
	return id == server || strings.HasSuffix(id, "."+server)
}

// authservID parses the name at the start of value, after comments, quotes and whitespace (RFC 8601
// section 2.2). It is as lenient as the most careless reader: quotes do not end the name, and
// escapes are removed.
func authservID(value string) string {
	id := make([]byte, 0, 64)
	depth := 0
	for i := 0; i < len(value) && len(id) <= 254; i++ {
		c := value[i]
		escaped := c == '\\' && i+1 < len(value)
		if escaped {
			i++
			c = value[i]
		}
		switch {
		case !escaped && c == '(' && len(id) == 0:
			depth++
		case !escaped && c == ')' && depth > 0:
			depth--
		case depth > 0, c == '"', c <= ' ' && len(id) == 0:
		case c <= ' ', strings.IndexByte(";(/", c) >= 0:
			return strings.TrimSuffix(string(id), ".")
		default:
			id = append(id, c)
		}
	}
	return strings.TrimSuffix(string(id), ".")
}

// authText is the value of our Authentication-Results field. All domains in it are canonical, so no
// value needs quotes.
func authText(a *inbox.Auth) string {
	var b strings.Builder
	b.Grow(192)
	b.WriteString(a.CheckingServer)
	identity := "smtp.mailfrom"
	if a.HELO {
		identity = "smtp.helo"
	}
	writeResult(&b, "spf", a.SPF.ResultKeyword, identity, a.SPF.Domain)
	if len(a.Signatures) == 0 {
		writeResult(&b, "dkim", a.DKIM.ResultKeyword)
	}
	for _, s := range a.Signatures {
		writeResult(&b, "dkim", s.Word, "header.d", s.Domain, "header.s", s.Selector, "header.a", s.Algorithm)
	}
	writeResult(&b, "dmarc", a.DMARC.ResultKeyword, "header.from", a.DMARC.Domain)
	return b.String()
}

func writeResult(b *strings.Builder, method, word string, properties ...string) {
	writeProperty(b, "; ", method, word)
	for i := 0; i < len(properties); i += 2 {
		if properties[i+1] != "" {
			writeProperty(b, " ", properties[i], properties[i+1])
		}
	}
}

func writeProperty(b *strings.Builder, before, name, value string) {
	b.WriteString(before)
	b.WriteString(name)
	b.WriteByte('=')
	b.WriteString(value)
}

// declaredCodes returns the values of header fields that declare a code. Each of the two counts
// only if it occurs once, and if a signature that authenticates the named origin covers it
// (specification, Codes; ADR 0097).
func declaredCodes(raw []byte, doc *message.ParsedMessage, v AuthVerdict) (values []string) {
	for _, name := range [...]string{"OTP-Token", "One-Time-Code"} {
		if list := doc.HeaderValues(name); len(list) == 1 && v.isSignedFor(otp.DeclaredOrigin(list[0]), append(mustCover(raw), name)) {
			values = append(values, list[0])
		}
	}
	return values
}

// mustCover names the further header fields that a signature must cover, so that nobody could
// change how the signed body is parsed: Content-Type, unless the body itself determines its parts.
func mustCover(raw []byte) []string {
	if message.BodyFixesParts(raw) {
		return []string{"From"}
	}
	return []string{"From", "Content-Type"}
}
