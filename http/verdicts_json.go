package http

import (
	"strconv"

	"inboxd/internal/inbox"
)

// appendAuth appends who vouches for a mail (specification, Messages): null when nobody asked.
func appendAuth(b []byte, e *messageJSON) []byte {
	a := &e.content.Auth
	if a.Server == "" {
		return append(b, "null"...)
	}
	b = appendAuthResult(append(b, `{"spf":`...), a.SPF)
	b = appendAuthResult(append(b, `,"dkim":`...), a.DKIM)
	b = appendAuthResult(append(b, `,"dmarc":`...), a.DMARC)
	b = appendList(append(b, `,"signatures":`...), a.Signatures, func(b []byte, s inbox.AuthSignature) []byte {
		b = appendString(append(b, `{"result":`...), s.Word)
		b = appendStringOrNull(append(b, `,"domain":`...), s.Domain)
		b = appendStringOrNull(append(b, `,"selector":`...), s.Selector)
		b = appendStringOrNull(append(b, `,"algorithm":`...), s.Algorithm)
		return append(b, '}')
	})
	return append(b, '}')
}

func appendAuthResult(b []byte, r inbox.AuthResult) []byte {
	b = appendString(append(b, `{"result":`...), r.Word)
	b = appendStringOrNull(append(b, `,"domain":`...), r.Domain)
	return append(b, '}')
}

// appendSpam appends the scanner's verdict (specification, Spam), null when the mail
// was never scanned.
func appendSpam(b []byte, e *messageJSON) []byte {
	s := e.content.Spam
	if s == nil {
		return append(b, "null"...)
	}
	b = strconv.AppendFloat(append(b, `{"score":`...), s.Score, 'f', -1, 64)
	b = strconv.AppendFloat(append(b, `,"required":`...), s.Required, 'f', -1, 64)
	b = strconv.AppendBool(append(b, `,"is_spam":`...), s.IsSpam)
	b = appendList(append(b, `,"rules":`...), s.Rules, func(b []byte, r inbox.SpamRule) []byte {
		b = appendString(append(b, `{"name":`...), r.Name)
		b = strconv.AppendFloat(append(b, `,"weight":`...), r.Weight, 'f', -1, 64)
		b = appendString(append(b, `,"description":`...), r.Description)
		return append(b, '}')
	})
	return append(b, '}')
}
