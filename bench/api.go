package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAccounts is what the rate limit on sign-up lets through in a minute (decisions §1).
const maxAccounts = 10

// apiTimeout bounds one call of the preparation and of the checks.
const apiTimeout = 30 * time.Second

// api calls the public HTTP API with one credential over one connection. Not safe for
// concurrent use.
type api struct {
	conn       *httpConn
	host       string
	credential string // whole header line; empty is anonymous
}

func dialAPI(ctx context.Context, host, key string) (*api, error) {
	conn, err := dialHTTP(ctx, host)
	if err != nil {
		return nil, err
	}
	return &api{conn: conn, host: host, credential: keyHeader(key)}, nil
}

func keyHeader(key string) string {
	if key == "" {
		return ""
	}
	return "X-API-Key: " + key
}

func (a *api) Close() error { return a.conn.Close() }

// refusal is an answer of the API that is not 2xx.
type refusal struct {
	Status int
	Detail string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.Status, r.Detail) }

// call sends in as JSON, nil for no body, and decodes a 2xx answer into out.
func (a *api) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	if err := a.conn.nc.SetDeadline(time.Now().Add(apiTimeout)); err != nil {
		return err
	}
	defer interruptOn(ctx, a.conn.nc)()
	answer, err := a.conn.Do(buildRequest(method, path, a.host, a.credential, body))
	if err == nil && answer.Status/100 != 2 {
		err = &refusal{answer.Status, detailOf(answer.Body)}
	}
	if err == nil {
		err = json.Unmarshal(answer.Body, out)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s %s: %w", method, path, err), context.Cause(ctx))
	}
	return nil
}

func detailOf(body []byte) string {
	var e struct{ Detail string }
	if json.Unmarshal(body, &e) != nil || e.Detail == "" {
		return fmt.Sprintf("%.200q", body)
	}
	return e.Detail
}

// signUp makes n accounts and one key with scope full for each.
func signUp(ctx context.Context, host string, n int) ([]string, error) {
	if n > maxAccounts {
		return nil, fmt.Errorf("at most %d accounts: sign-up is rate limited to that many a minute", maxAccounts)
	}
	keys := make([]string, n)
	for i := range keys {
		var err error
		if keys[i], err = signUpOne(ctx, host); err != nil {
			return nil, fmt.Errorf("sign up account %d of %d: %w", i+1, n, err)
		}
	}
	return keys, nil
}

func signUpOne(ctx context.Context, host string) (string, error) {
	_, key, err := signUpBoth(ctx, host)
	return key, err
}

// signUpBoth makes an account and returns its session token and a key.
func signUpBoth(ctx context.Context, host string) (session, key string, err error) {
	a, err := dialAPI(ctx, host, "")
	if err != nil {
		return "", "", err
	}
	defer a.Close()
	name := strings.ToLower(rand.Text())
	var account struct {
		Token string `json:"session_token"`
	}
	err = a.call(ctx, "POST", "/api/auth/signup",
		map[string]string{"email": "bench-" + name + "@example.test", "password": rand.Text()}, &account)
	if err != nil {
		return "", "", err
	}
	a.credential = "Authorization: Bearer " + account.Token
	var issued struct {
		Key string `json:"key"`
	}
	err = a.call(ctx, "POST", "/api/keys",
		map[string]any{"label": "bench", "scopes": []string{"full"}, "expires_in_days": 30}, &issued)
	if err == nil && issued.Key == "" {
		err = errors.New("the answer holds no key")
	}
	return account.Token, issued.Key, err
}

// Inbox is an address and the account key that reads it.
type Inbox struct{ Address, Key string }

// latestPath is the polling call; after and wait as in decisions §3, zero leaves them out.
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

func (a *api) latest(ctx context.Context, address string) (*Email, error) {
	var answer struct {
		Email *Email `json:"email"`
	}
	err := a.call(ctx, "GET", latestPath(address, 0, 0), nil, &answer)
	return answer.Email, err
}

// createInboxes makes n inboxes over conns connections, the i-th with the prefix that
// prefix(i) says, and deals them out among the keys.
func createInboxes(ctx context.Context, host string, keys []string, n, conns int, prefix func(i int) string) ([]Inbox, error) {
	inboxes := make([]Inbox, n)
	conns = min(conns, n)
	err := parallel(ctx, conns, func(ctx context.Context, k int) error {
		a, err := dialAPI(ctx, host, "")
		if err != nil {
			return err
		}
		defer a.Close()
		from, to := share(n, k, conns)
		for i := from; i < to; i++ {
			key := keys[i%len(keys)]
			a.credential = keyHeader(key)
			var made struct {
				Address string `json:"address"`
			}
			if err := a.call(ctx, "POST", "/api/v1/inboxes", map[string]string{"prefix": prefix(i)}, &made); err != nil {
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
		n, err := storedIn(ctx, host, key)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func storedIn(ctx context.Context, host, key string) (total int64, err error) {
	a, err := dialAPI(ctx, host, key)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	for cursor := ""; ; {
		var page struct {
			Inboxes []struct {
				Count int64 `json:"message_count"`
			} `json:"inboxes"`
			Next *string `json:"next_cursor"`
		}
		if err := a.call(ctx, "GET", "/api/v1/inboxes?limit=1000"+cursor, nil, &page); err != nil {
			return 0, err
		}
		for _, in := range page.Inboxes {
			total += in.Count
		}
		if page.Next == nil || *page.Next == "" {
			return total, nil
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
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
