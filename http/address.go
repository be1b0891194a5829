package http

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// parameter returns a path parameter, percent-decoded once; a bad escape stays as it is.
// The router matches the path as sent, so a decoded slash never moves a segment.
func parameter(c *fasthttp.RequestCtx, name string) string {
	raw, _ := c.UserValue(name).(string)
	decoded, err := url.PathUnescape(raw)
	if err != nil {
		decoded = raw
	}
	return strings.Clone(decoded)
}

// number reads an id of a path: a whole number above zero in its one decimal form.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}
