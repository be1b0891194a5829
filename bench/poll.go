package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"inboxd/bench/drive"
)

// PollOptions shape the load of pollers. The tags are for the command line.
type PollOptions struct {
	Inboxes     int           `help:"Inboxes, each with one message and its code." default:"10000" least:"1"`
	Connections int           `help:"Keep-alive connections." default:"64" least:"1"`
	Duration    time.Duration `help:"Measured time per target, over all rounds." default:"10s" least:"1ms"`
	Rounds      int           `help:"Turns each target gets." default:"5" least:"1"`
	Rate        float64       `help:"Requests a second instead of as many as possible; latency then counts from when each was due." least:"0"`
	Variants    []string      `help:"Ways to ask: account-key and inbox-key on the agent surface, per-inbox (its own surface and key), 304 (account key and a known ETag), tag (account key, by the tag that the message came to), encrypted (account key, encrypted inboxes)." default:"account-key,inbox-key,per-inbox,304,tag,encrypted"`
}

// SetUpConns is how many connections and sessions prepare a load.
const SetUpConns = 32

// Poll measures GET /latest with real keys, in each variant, next to a constant response of the
// same size.
func Poll(ctx context.Context, bed *Bed, opts PollOptions) error {
	variants, err := opts.variants()
	if err != nil {
		return err
	}
	variants = bed.possible(variants)
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys, opts.Inboxes)
	if err != nil {
		return err
	}
	mailed, err := mailOnce(ctx, bed, inboxes)
	if err != nil {
		return err
	}
	if err := prepareVariants(ctx, bed, variants, mailed); err != nil {
		return err
	}
	var vaults []mailedInbox
	if slices.ContainsFunc(variants, func(v pollVariant) bool { return v.sealed }) {
		if inboxes, err = bed.encryptedInboxes(ctx, opts.Inboxes); err != nil {
			return err
		}
		if vaults, err = mailOnce(ctx, bed, inboxes); err != nil {
			return err
		}
	}
	if err := bed.Server.Proc.Settle(ctx); err != nil {
		return err
	}
	for _, v := range variants {
		of := mailed
		if v.sealed {
			of = vaults
		}
		if err := pollOne(ctx, bed, v, of, opts); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

// Validate refuses variants that there are not.
func (o PollOptions) Validate() error {
	_, err := o.variants()
	return err
}

// pollOne compares one variant with its constant response.
func pollOne(ctx context.Context, bed *Bed, v pollVariant, mailed []mailedInbox, opts PollOptions) error {
	size, err := meanResponse(ctx, bed.Server.HTTP, v, mailed)
	if err != nil {
		return err
	}
	bed.Report.Load["bytes_"+v.name] = size
	requests := make([][]byte, len(mailed))
	for i, m := range mailed {
		requests[i] = v.request(bed.Server.HTTP, m)
	}
	r := reading{bed, opts.Connections, opts.Duration, opts.Rounds, opts.Rate}
	return r.compare(ctx, "GET /latest "+v.name, requests, v.status(), size,
		func(i int, a drive.HTTPResponse) error { return v.check(mailed[i], a) })
}

// mailedInbox is an inbox whose newest message carries a code we know.
type mailedInbox struct {
	Inbox
	code      string
	own, etag string // its own key and the ETag of its newest message, where a load needs them
}

// taggedAddress is the tagged address that the message came to.
func (m mailedInbox) taggedAddress() string { return strings.Replace(m.Address, "@", "+tag@", 1) }

// mailOnce sends each inbox one message.
func mailOnce(ctx context.Context, bed *Bed, inboxes []Inbox) ([]mailedInbox, error) {
	mailed := withoutMail(inboxes)
	return mailed, mailEach(ctx, bed.Server.SMTP, mailed, 0)
}

func withoutMail(inboxes []Inbox) []mailedInbox {
	mailed := make([]mailedInbox, len(inboxes))
	for i, in := range inboxes {
		mailed[i].Inbox = in
	}
	return mailed
}

// mailEach sends each inbox one message, whose codes count from first, and wants every one of
// them accepted.
func mailEach(ctx context.Context, addr string, mailed []mailedInbox, first int) error {
	load := drive.MailLoad{Addr: addr, Sessions: min(SetUpConns, len(mailed)), Messages: len(mailed), Size: drive.MailSize, First: first}
	for i := range mailed {
		mailed[i].code = load.Code(i)
		load.To = append(load.To, mailed[i].taggedAddress())
	}
	if err := load.Deliver(ctx); err != nil {
		return fmt.Errorf("one message for each inbox: %w", err)
	}
	return nil
}

// meanResponse is the mean size of what pollers will get, from up to 100 inboxes.
func meanResponse(ctx context.Context, host string, v pollVariant, mailed []mailedInbox) (int, error) {
	conn, err := drive.DialHTTP(ctx, host)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	sample, total := min(100, len(mailed)), 0
	for i := range sample {
		response, err := conn.Do(v.request(host, mailed[i*len(mailed)/sample]))
		if err != nil {
			return 0, err
		}
		total += sizeOf(response, v.status())
	}
	return total / sample, nil
}

func checkLatest(want mailedInbox, body []byte) error {
	email, err := drive.ParseLatest(body)
	if err != nil {
		return fmt.Errorf("latest of %s: %w", want.Address, err)
	}
	if got := email.CodeIn(); got != want.code {
		return fmt.Errorf("latest of %s: code %q, want %q", want.Address, got, want.code)
	}
	return nil
}

// ageBase64 is how every age file begins, in base64: age-encryption.org/v1 and a line end.
const ageBase64 = "YWdlLWVuY3J5cHRpb24ub3JnL3YxC"

// checkSealed expects an envelope and no code.
func checkSealed(want mailedInbox, body []byte) error {
	var response struct {
		Email struct {
			Encrypted bool    `json:"encrypted"`
			Envelope  string  `json:"envelope"`
			Code      *string `json:"otp_code"`
		} `json:"email"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return fmt.Errorf("latest of %s: %w", want.Address, err)
	}
	if e := response.Email; !e.Encrypted || e.Code != nil || !strings.HasPrefix(e.Envelope, ageBase64) {
		return fmt.Errorf("latest of %s is not sealed: %.300s", want.Address, body)
	}
	return nil
}
