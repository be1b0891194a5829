package drive

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// KeyHeader is the header line of an API key, without its end; empty for none.
func KeyHeader(key string) string {
	if key == "" {
		return ""
	}
	return "X-API-Key: " + key
}

// DetailOf is the sentence of an error's body, or the body itself where there is none.
func DetailOf(body []byte) string {
	var e struct{ Detail string }
	if json.Unmarshal(body, &e) != nil || e.Detail == "" {
		return fmt.Sprintf("%.200q", body)
	}
	return e.Detail
}

// LatestPath is the polling call; after and wait as in the specification, Latest; zero leaves
// them out.
func LatestPath(address string, after int64, wait time.Duration) string {
	path := "/api/v1/inboxes/" + url.PathEscape(address) + "/latest"
	sep := "?"
	if after > 0 {
		path += sep + "after=" + strconv.FormatInt(after, 10)
		sep = "&"
	}
	if wait > 0 {
		path += sep + "wait=" + strconv.Itoa(int(wait.Seconds()))
	}
	return path
}

// Email is the part of a message that the checks look at.
type Email struct {
	ID   int64   `json:"id"`
	Code *string `json:"otp_code"`
}

// CodeIn is the code of a message; empty when it has none, and when there is no message.
func (e *Email) CodeIn() string {
	if e == nil || e.Code == nil {
		return ""
	}
	return *e.Code
}

// ParseLatest returns nil when there is no message.
func ParseLatest(body []byte) (*Email, error) {
	var response struct {
		Email *Email `json:"email"`
	}
	err := json.Unmarshal(body, &response)
	return response.Email, err
}
