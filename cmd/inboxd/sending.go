package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/core/delivery"
	"inboxd/smtp/courier"
)

// sendingFlags configure how messages are sent (specification, Operating).
type sendingFlags struct {
	Smarthost         string `help:"Server that relays all outgoing messages, instead of the recipients' MX hosts." placeholder:"HOST:PORT"`
	SmarthostUser     string `help:"User name for the smarthost." placeholder:"NAME"`
	SmarthostPassword string `help:"Password for the smarthost. Prefer INBOXD_SMARTHOST_PASSWORD, which the process list does not show." placeholder:"PASSWORD"`
	SmarthostTLS      string `help:"TLS to the smarthost: auto (verified if there is a password, otherwise opportunistic), required (STARTTLS, verified), implicit (from the first byte, verified) or none." enum:"auto,required,implicit,none" default:"auto" name:"smarthost-tls"`

	MXPort        int           `help:"Port of the recipients' MX hosts." default:"25" placeholder:"N" name:"mx-port"`
	DeliveryAllow []string      `help:"Non-public networks to which messages may be delivered." placeholder:"CIDR"`
	RetrySchedule string        `help:"Delays between delivery attempts; the last one repeats (default: 1m,5m,15m,30m,1h,2h,4h)." placeholder:"LIST"`
	RetryFor      time.Duration `help:"How long delivery of a message is retried before it fails." default:"48h"`
}

// retrySchedule parses the retry flags.
func (f *sendingFlags) retrySchedule() (s delivery.RetrySchedule, err error) {
	if s.MaxAge = f.RetryFor; s.MaxAge <= 0 {
		return s, fmt.Errorf("--retry-for: invalid duration %v (must be greater than 0)", f.RetryFor)
	}
	if f.RetrySchedule != "" {
		if s.RetryDelays, err = delivery.ParseDelays(f.RetrySchedule); err != nil {
			return s, fmt.Errorf("--retry-schedule %q: %w", f.RetrySchedule, err)
		}
	}
	return s, nil
}

var tlsModes = map[string]courier.TLSMode{"auto": courier.TLSAuto, "required": courier.TLSRequired, "implicit": courier.TLSImplicit, "none": courier.TLSNone}

// smarthost parses the flags of the smarthost and the MX port.
func (f *sendingFlags) smarthost() (courier.Smarthost, error) {
	if f.MXPort < 1 || f.MXPort > 65535 {
		return courier.Smarthost{}, fmt.Errorf("--mx-port: invalid port %d (1-65535)", f.MXPort)
	}
	s := courier.Smarthost{Addr: f.Smarthost, Username: f.SmarthostUser, Password: f.SmarthostPassword, TLS: tlsModes[f.SmarthostTLS]}
	if s.Addr == "" {
		if s.Username != "" || s.Password != "" {
			return s, errors.New("--smarthost-user and --smarthost-password require --smarthost")
		}
		return s, nil
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		return s, fmt.Errorf("--smarthost: invalid address %q (use HOST:PORT, such as smtp.example.com:587)", s.Addr)
	}
	switch {
	case (s.Username == "") != (s.Password == ""):
		return s, errors.New("--smarthost-user and --smarthost-password must be set together")
	case s.SendsClear():
		return s, errors.New("--smarthost-tls none would send the password unencrypted. It is allowed only with a smarthost on this machine")
	}
	return s, nil
}

// courierAdapter adapts the courier to the interface of the mail queue.
type courierAdapter struct{ *courier.Courier }

var _ mailqueue.DeliveryAgent = courierAdapter{}

// Deliver implements mailqueue.DeliveryAgent.
func (r courierAdapter) Deliver(ctx context.Context, c mailqueue.DeliveryRequest) []mailqueue.Handover {
	reports := r.Courier.Deliver(ctx, courier.DeliveryRequest(c))
	out := make([]mailqueue.Handover, len(reports))
	for i, report := range reports {
		out[i] = mailqueue.Handover(report)
	}
	return out
}
