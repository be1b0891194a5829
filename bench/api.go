package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"inboxd/bench/drive"
	"inboxd/http/client"
)

// apiHTTP carries the preparation and the checks of all loads. What is measured never goes
// through it: a load has connections of its own and requests that were built before.
var apiHTTP = &http.Client{
	Timeout:   drive.ResponseWithin,
	Transport: &http.Transport{MaxIdleConnsPerHost: SetUpConns, IdleConnTimeout: time.Second},
}

// NewAPI returns a client of the server at host, as Server.HTTP has it.
func NewAPI(host, credential string) *client.Client {
	c := client.New(drive.BaseURL(host), credential)
	c.HTTP, c.Retries = apiHTTP, -1 // failures are reported, and no call carries an Idempotency-Key
	return c
}

// signUp makes an account and a key with scope full.
func (b *Bed) signUp(ctx context.Context) (session, key string, err error) {
	api := NewAPI(b.Server.HTTP, "")
	in, err := api.SignUp(ctx, "bench-"+strings.ToLower(rand.Text())+"@example.test", rand.Text())
	if err != nil {
		return "", "", err
	}
	issued, err := api.With(in.Token).IssueKey(ctx, client.KeyOrder{Label: "bench", Scopes: []string{client.ScopeFull}, ExpiresInDays: 30})
	return in.Token, issued.Key, err
}

// Inbox is an address and the account key that reads it.
type Inbox struct{ Address, Key string }

// latest reads the newest message of an inbox; its zero value when there is none.
func (in Inbox) latest(ctx context.Context, host string) (drive.Email, error) {
	m, err := NewAPI(host, in.Key).Latest(ctx, in.Address, client.LatestQuery{Fields: []string{"id", "otp_code"}})
	if m == nil || err != nil {
		return drive.Email{}, err
	}
	return drive.Email{ID: m.ID, Code: &m.OTPCode}, nil
}

// CreateInboxes makes n inboxes, and deals them out among the keys.
func (b *Bed) CreateInboxes(ctx context.Context, keys []string, n int) ([]Inbox, error) {
	token := runToken()
	return b.namedInboxes(ctx, keys, n, func(i int) string { return token + strconv.Itoa(i) })
}

// namedInboxes is CreateInboxes, the i-th with the prefix that prefix(i) says.
func (b *Bed) namedInboxes(ctx context.Context, keys []string, n int, prefix func(i int) string) ([]Inbox, error) {
	return createInboxes(ctx, n, func(ctx context.Context, i int) (Inbox, error) {
		key := keys[i%len(keys)]
		in, err := NewAPI(b.Server.HTTP, key).CreateInbox(ctx, client.InboxOrder{Prefix: prefix(i)})
		return Inbox{in.Address, key}, err
	})
}

// showEvery is how many inboxes pass between two reports of progress.
const showEvery = 500

func createInboxes(ctx context.Context, n int, create func(ctx context.Context, i int) (Inbox, error)) ([]Inbox, error) {
	inboxes := make([]Inbox, n)
	var done atomic.Int64
	err := drive.Each(ctx, SetUpConns, n, func(ctx context.Context, i int) error {
		whole, err := toTheEnd(ctx)
		if err == nil {
			inboxes[i], err = create(whole, i)
		}
		if err != nil {
			return fmt.Errorf("inbox %d of %d: %w", i+1, n, err)
		}
		if d := done.Add(1); d%showEvery == 0 || d == int64(n) {
			drive.ShowProgress(ctx, drive.Moment{Name: "inboxes made", Done: float64(d), All: float64(n)})
		}
		return nil
	})
	return inboxes, err
}

// benchRecipient is a public key whose private one was thrown away.
const benchRecipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

// encryptedInboxes makes an account with a public key, and n encrypted inboxes in it.
func (b *Bed) encryptedInboxes(ctx context.Context, n int) ([]Inbox, error) {
	session, key, err := b.signUp(ctx)
	if err != nil {
		return nil, err
	}
	api := NewAPI(b.Server.HTTP, session)
	if _, err := api.SetEncryption(ctx, benchRecipient, ""); err != nil {
		return nil, err
	}
	token := runToken()
	return createInboxes(ctx, n, func(ctx context.Context, i int) (Inbox, error) {
		in, err := api.CreateEncryptedInbox(ctx, client.InboxOrder{Prefix: token + strconv.Itoa(i)})
		return Inbox{in.Address, key}, err
	})
}

// storedMails sums message_count over all inboxes of the keys' accounts.
func storedMails(ctx context.Context, host string, keys []string) (total int64, err error) {
	for _, key := range keys {
		for in, err := range NewAPI(host, key).Inboxes(ctx) {
			if err != nil {
				return 0, err
			}
			total += int64(in.MessageCount)
		}
	}
	return total, nil
}

// domainOf is what follows the @.
func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return domain
}

func addresses(inboxes []Inbox) []string {
	out := make([]string, len(inboxes))
	for i, in := range inboxes {
		out[i] = in.Address
	}
	return out
}
