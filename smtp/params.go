package smtp

import (
	"strconv"
	"strings"
)

// mailParams is what the parameters of MAIL ask for.
type mailParams struct {
	size int64
	utf8 bool
}

// readMailParams reads the parameters of MAIL (RFC 1870, 6152, 6531, 4954).
func readMailParams(s string) (p mailParams, r *reply) {
	for param := range strings.FieldsSeq(s) {
		key, value, ok := cutParam(param)
		if !ok {
			return p, replyMailParams
		}
		switch key {
		case "SIZE":
			size, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return p, replySize
			}
			p.size = int64(size)
		case "SMTPUTF8":
			p.utf8 = true
		case "BODY":
			r = checkBody(value)
		case "AUTH":
			r = checkAuth(value)
		case "REQUIRETLS", "RET", "ENVID":
			r = replyNotImplemented(key)
		default:
			r = replyMailParam
		}
		if r != nil {
			return p, r
		}
	}
	return p, nil
}

// readRcptParams refuses all that there is.
func readRcptParams(s string) *reply {
	for param := range strings.FieldsSeq(s) {
		switch key, _, ok := cutParam(param); {
		case !ok:
			return replyRcptParams
		case key == "NOTIFY", key == "ORCPT", key == "RRVS", key == "MT-PRIORITY":
			return replyNotImplemented(key)
		case key == "BY":
			return replyNotImplemented("DELIVERBY")
		default:
			return replyRcptParam
		}
	}
	return nil
}

// cutParam reads "KEY" or "key=value".
func cutParam(param string) (key, value string, ok bool) {
	key, value, _ = strings.Cut(param, "=")
	return asciiUpper(key), value, !strings.Contains(value, "=")
}

func checkBody(value string) *reply {
	switch asciiUpper(value) {
	case "7BIT", "8BITMIME":
		return nil
	case "BINARYMIME":
		return replyNotImplemented("BINARYMIME")
	}
	return replyBody
}

// checkAuth reads the xtext of a mailbox, or of <>, RFC 4954 section 5. Nothing follows from
// it: nobody authenticates here.
func checkAuth(value string) *reply {
	value, ok := decodeXtext(value)
	switch {
	case !ok || value == "":
		return replyAuth
	case value == "<>":
		return nil
	}
	at := localEnd(value)
	if at < 1 || at+1 >= len(value) || value[at] != '@' || strings.ContainsAny(value[at:], " \t>") {
		return replyAuthMailbox
	}
	return nil
}

// decodeXtext reads RFC 3461 section 4: + and two digits stand for a character.
func decodeXtext(s string) (string, bool) {
	if strings.IndexByte(s, '+') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for ; s != ""; s = s[1:] {
		if s[0] != '+' {
			b = append(b, s[0])
			continue
		}
		if len(s) < 3 {
			return "", false
		}
		c, err := strconv.ParseUint(s[1:3], 16, 7)
		if err != nil || s[1:3] != asciiUpper(s[1:3]) {
			return "", false
		}
		b = append(b, byte(c))
		s = s[2:]
	}
	return string(b), true
}
