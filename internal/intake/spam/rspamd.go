package spam

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
)

// rspamd implements rspamd's HTTP protocol, https://docs.rspamd.com/developers/protocol.
type rspamd struct {
	url    string
	client *http.Client
}

func newRspamd(host string) rspamd {
	return rspamd{url: "http://" + host + "/checkv2", client: &http.Client{
		Transport: &http.Transport{ // no proxy: the scanner is local
			DialContext: dialer.DialContext, MaxIdleConnsPerHost: atOnce, IdleConnTimeout: time.Minute, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// rspamdAnswer is the used part of the response of /checkv2.
type rspamdAnswer struct {
	Skipped  bool     `json:"is_skipped"`
	Score    *float64 `json:"score"`
	Required float64  `json:"required_score"`
	Action   string   `json:"action"`
	Symbols  map[string]struct {
		Score       float64 `json:"score"`
		Description string  `json:"description"`
	} `json:"symbols"`
}

func (r rspamd) judgeMessage(ctx context.Context, env ingest.Envelope, raw []byte) (*inbox.SpamVerdict, error) {
	mail := &lentMessage{raw: raw}
	defer mail.endLoan()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, mail.newBody())
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(raw))
	req.GetBody = func() (io.ReadCloser, error) { return mail.newBody(), nil } // for a connection that was closed meanwhile
	setEnvelope(req.Header, env)
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("rspamd responded with %s", resp.Status)
	}
	return readRspamd(body)
}

// setEnvelope sends the data that cannot be trusted in the message's own header.
func setEnvelope(h http.Header, env ingest.Envelope) {
	h["From"] = []string{headerText(env.MailFrom)}
	if env.RemoteIP.IsValid() {
		h["IP"] = []string{env.RemoteIP.String()}
	}
	if env.Helo != "" {
		h["Helo"] = []string{headerText(env.Helo)}
	}
	for _, rcpt := range env.RcptTo {
		h["Rcpt"] = append(h["Rcpt"], headerText(rcpt))
	}
}

// headerText replaces characters that would break a header, which net/http would refuse to send.
func headerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

// readRspamd parses a response. A message is spam if its score reaches the threshold, or if rspamd
// would reject it whatever the score. A message that rspamd skipped was not scanned.
func readRspamd(body []byte) (*inbox.SpamVerdict, error) {
	var a rspamdAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("rspamd response: %w", err)
	}
	if a.Score == nil {
		return nil, fmt.Errorf("the rspamd response has no score")
	}
	if a.Skipped && len(a.Symbols) == 0 {
		return nil, nil
	}
	v := &inbox.SpamVerdict{Score: *a.Score, RequiredScore: a.Required, IsSpam: a.Action == "reject" || a.Required > 0 && *a.Score >= a.Required}
	for _, name := range slices.Sorted(maps.Keys(a.Symbols)) {
		s := a.Symbols[name]
		v.Rules = append(v.Rules, inbox.SpamRule{Name: name, Weight: s.Score, Description: s.Description})
	}
	byWeight(v.Rules)
	return v, nil
}

// byWeight sorts the rules by weight, so that a limit removes the least important ones.
func byWeight(rules []inbox.SpamRule) {
	slices.SortStableFunc(rules, func(a, b inbox.SpamRule) int {
		return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight))
	})
}
