package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"inboxd/bench/drive"
	"inboxd/http/client"
)

// pollVariant is one way to ask for the newest message: by which surface, with which key, and
// whether the response is known already.
type pollVariant struct {
	name  string
	path  func(address string) string
	own   bool // with the inbox's own key, else with the account's
	known bool // with the ETag of the response, so that 304 comes
	tag   bool // by the tag that the message came to

	sealed bool // of encrypted inboxes
}

var pollVariants = []pollVariant{
	{name: "account-key", path: agentLatest},
	{name: "inbox-key", path: agentLatest, own: true},
	{name: "per-inbox", path: insideLatest, own: true},
	{name: "304", path: agentLatest, known: true},
	{name: "tag", path: agentLatest, tag: true},
	{name: "encrypted", path: agentLatest, sealed: true},
}

func agentLatest(address string) string { return drive.LatestPath(address, 0, 0) }

func insideLatest(address string) string {
	return "/api/inboxes/" + url.PathEscape(address) + "/latest"
}

// variants are those asked for; none named means all.
func (o PollOptions) variants() ([]pollVariant, error) {
	if len(o.Variants) == 0 {
		return pollVariants, nil
	}
	var asked []pollVariant
	for _, name := range o.Variants {
		i := slices.IndexFunc(pollVariants, func(v pollVariant) bool { return v.name == name })
		if i < 0 {
			return nil, fmt.Errorf("--variants: unknown variant %q", name)
		}
		asked = append(asked, pollVariants[i])
	}
	return asked, nil
}

// possible leaves out the variants whose keys or inboxes only a session makes, which an attached
// server does not give, and notes that in the report.
func (b *Bed) possible(variants []pollVariant) (possible []pollVariant) {
	for _, v := range variants {
		if b.Server.Attached() && (v.own || v.sealed) {
			b.Report.Notes = append(b.Report.Notes, "The variant "+v.name+" needs a server of its own.")
			continue
		}
		possible = append(possible, v)
	}
	return possible
}

func (v pollVariant) status() int {
	if v.known {
		return http.StatusNotModified
	}
	return http.StatusOK
}

// request is one inbox's poll.
func (v pollVariant) request(host string, m mailedInbox) []byte {
	key := m.Key
	if v.own {
		key = m.own
	}
	fields := drive.KeyHeader(key)
	if v.known {
		fields += "\r\nIf-None-Match: " + m.etag
	}
	address := m.Address
	if v.tag {
		address = m.taggedAddress()
	}
	return drive.BuildRequest("GET", v.path(address), host, fields, nil)
}

// check judges one response that had the right status.
func (v pollVariant) check(m mailedInbox, response drive.HTTPResponse) error {
	switch {
	case v.sealed:
		return checkSealed(m, response.Body)
	case !v.known:
		return checkLatest(m, response.Body)
	}
	if got := response.Field("etag"); got != m.etag || len(response.Body) > 0 {
		return fmt.Errorf("latest of %s came back as unchanged with ETag %s and %d bytes, want %s and none", m.Address, got, len(response.Body), m.etag)
	}
	return nil
}

// prepareVariants gets the inboxes what the variants ask with: keys of their own, ETags.
func prepareVariants(ctx context.Context, bed *Bed, variants []pollVariant, mailed []mailedInbox) error {
	if slices.ContainsFunc(variants, func(v pollVariant) bool { return v.own }) {
		if err := issueOwnKeys(ctx, bed, mailed); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(variants, func(v pollVariant) bool { return v.known }) {
		return readTags(ctx, bed.Server.HTTP, mailed)
	}
	return nil
}

func issueOwnKeys(ctx context.Context, bed *Bed, mailed []mailedInbox) error {
	return drive.Each(ctx, SetUpConns, len(mailed), func(ctx context.Context, i int) error {
		session := bed.Sessions[slices.Index(bed.Keys, mailed[i].Key)]
		issued, err := NewAPI(bed.Server.HTTP, session).IssueInboxKey(ctx, mailed[i].Address, client.KeyOrder{Scopes: []string{client.ScopeRead}})
		if err != nil {
			return fmt.Errorf("key of inbox %d of %d: %w", i+1, len(mailed), err)
		}
		mailed[i].own = issued.Key
		return nil
	})
}

func readTags(ctx context.Context, host string, mailed []mailedInbox) error {
	return drive.Parallel(ctx, SetUpConns, func(ctx context.Context, k int) error {
		conn, err := drive.DialHTTP(ctx, host)
		if err != nil {
			return err
		}
		defer conn.Close()
		from, to := drive.Share(len(mailed), k, SetUpConns)
		for i := from; i < to; i++ {
			response, err := conn.Do(pollVariants[0].request(host, mailed[i]))
			if err != nil {
				return err
			}
			if mailed[i].etag = strings.Clone(response.Field("etag")); mailed[i].etag == "" {
				return fmt.Errorf("latest of %s: status %d without an ETag", mailed[i].Address, response.Status)
			}
		}
		return nil
	})
}
