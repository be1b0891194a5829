package http

import (
	"strconv"

	"inboxd/internal/inbox"
)

// appendSpam appends the scanner's verdict (specification, Spam), null when the mail
// was never scanned.
func appendSpam(b []byte, e *email) []byte {
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
