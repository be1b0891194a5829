package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"inboxd/http/client"
)

// maxAccounts is what the rate limit on sign-up lets through in a minute (specification,
// Sign-up and sessions).
const maxAccounts = 10

// apiTimeout bounds one call of the preparation and of the checks.
const apiTimeout = 30 * time.Second

// apiHTTP carries the preparation and the checks of all loads. What is measured never goes
// through it: a load has connections of its own and requests that were built before.
var apiHTTP = &http.Client{
	Timeout:   apiTimeout,
	Transport: &http.Transport{MaxIdleConnsPerHost: setUpConns, IdleConnTimeout: time.Second},
}

// newAPI returns a client of the server at host, HOST:PORT.
func newAPI(host, credential string) *client.Client {
	c := client.New("http://"+host, credential)
	c.HTTP = apiHTTP
	return c
}

func keyHeader(key string) string {
	if key == "" {
		return ""
	}
	return "X-API-Key: " + key
}

// refusal is an answer to a measured request that is not 2xx.
type refusal struct {
	Status int
	Detail string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.Status, r.Detail) }

func detailOf(body []byte) string {
	var e struct{ Detail string }
	if json.Unmarshal(body, &e) != nil || e.Detail == "" {
		return fmt.Sprintf("%.200q", body)
	}
	return e.Detail
}

// signUp makes n accounts and one key with scope full for each.
func signUp(ctx context.Context, host string, n int) (sessions, keys []string, err error) {
	if n > maxAccounts {
		return nil, nil, fmt.Errorf("at most %d accounts: sign-up is rate limited to that many a minute", maxAccounts)
	}
	sessions, keys = make([]string, n), make([]string, n)
	for i := range keys {
		if sessions[i], keys[i], err = signUpOne(ctx, host); err != nil {
			return nil, nil, fmt.Errorf("sign up account %d of %d: %w", i+1, n, err)
		}
	}
	return sessions, keys, nil
}

// signUpOne makes an account and returns its session token and a key.
func signUpOne(ctx context.Context, host string) (session, key string, err error) {
	api := newAPI(host, "")
	in, err := api.SignUp(ctx, "bench-"+strings.ToLower(rand.Text())+"@example.test", rand.Text())
	if err != nil {
		return "", "", err
	}
	issued, err := api.With(in.Token).IssueKey(ctx, client.KeyOrder{Label: "bench", Scopes: []string{client.ScopeFull}, ExpiresInDays: 30})
	if err == nil && issued.Key == "" {
		err = errors.New("the answer holds no key")
	}
	return in.Token, issued.Key, err
}

// Inbox is an address and the account key that reads it.
type Inbox struct{ Address, Key string }

// latestPath is the polling call; after and wait as in the specification, Latest; zero leaves
// them out.
func latestPath(address string, after int64, wait time.Duration) string {
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

func (e *Email) code() string {
	if e == nil || e.Code == nil {
		return ""
	}
	return *e.Code
}

// parseLatest returns nil when there is no message.
func parseLatest(body []byte) (*Email, error) {
	var answer struct {
		Email *Email `json:"email"`
	}
	err := json.Unmarshal(body, &answer)
	return answer.Email, err
}

// latest reads the newest message of an inbox; its zero value when there is none.
func (in Inbox) latest(ctx context.Context, host string) (Email, error) {
	m, err := newAPI(host, in.Key).Latest(ctx, in.Address, client.LatestQuery{Fields: []string{"id", "otp_code"}})
	if m == nil || err != nil {
		return Email{}, err
	}
	return Email{m.ID, &m.OTPCode}, nil
}

// createInboxes makes n inboxes over conns connections, the i-th with the prefix that
// prefix(i) says, and deals them out among the keys.
func createInboxes(ctx context.Context, host string, keys []string, n, conns int, prefix func(i int) string) ([]Inbox, error) {
	inboxes := make([]Inbox, n)
	conns = min(conns, n)
	err := parallel(ctx, conns, func(ctx context.Context, k int) error {
		api := newAPI(host, "")
		from, to := share(n, k, conns)
		for i := from; i < to; i++ {
			key := keys[i%len(keys)]
			made, err := api.With(key).CreateInbox(ctx, client.InboxOrder{Prefix: prefix(i)})
			if err != nil {
				return fmt.Errorf("inbox %d of %d: %w", i+1, n, err)
			}
			inboxes[i] = Inbox{made.Address, key}
		}
		return nil
	})
	return inboxes, err
}

// storedMails sums message_count over all inboxes of the keys' accounts.
func storedMails(ctx context.Context, host string, keys []string) (total int64, err error) {
	for _, key := range keys {
		for in, err := range newAPI(host, key).Inboxes(ctx) {
			if err != nil {
				return 0, err
			}
			total += int64(in.MessageCount)
		}
	}
	return total, nil
}

// runToken marks the addresses of one run, so that a second run against the same server
// does not meet taken prefixes. Letters only: smtp-source puts numbers in front of it.
func runToken() string {
	return strings.Map(func(r rune) rune {
		if r >= '2' && r <= '7' { // the digits of base32
			return r - '2' + 'a'
		}
		return r
	}, strings.ToLower(rand.Text()[:8]))
}

// domainOf is what follows the @.
func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return domain
}
