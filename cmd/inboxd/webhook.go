package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"inboxd/internal/core/webhook"
)

// webhookFlags configure where webhooks may be sent and when (specification, Operating).
type webhookFlags struct {
	WebhookAllow    []string `help:"Non-public networks that webhooks may call." placeholder:"CIDR"`
	WebhookSchedule string   `help:"Times of the webhook attempts after the event. An attempt starts only when the previous one has ended." default:"0s,30s,5m" placeholder:"LIST"`
}

// webhookAttempts is the maximum length of a schedule.
const webhookAttempts = 20

// parseSchedule parses --webhook-schedule.
func (f *webhookFlags) parseSchedule() (s webhook.Schedule, err error) {
	for _, text := range strings.Split(f.WebhookSchedule, ",") {
		wait, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil || wait < 0 || len(s) == webhookAttempts {
			return nil, fmt.Errorf("--webhook-schedule: invalid list %q (use up to %d times, such as 0s,30s,5m)", f.WebhookSchedule, webhookAttempts)
		}
		s = append(s, wait)
	}
	return s, nil
}

// goResolver returns a resolver that asks server, which has the form that dnsServer returns.
// Without a server it returns nil, the system's resolver.
func goResolver(server string) *net.Resolver {
	if server == "" {
		return nil
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}}
}
