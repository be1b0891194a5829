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

// sendingFlags say how mail leaves (specification, Operating).
type sendingFlags struct {
	Smarthost         string `help:"Server that takes all outgoing mail instead of the recipients' own." placeholder:"HOST:PORT"`
	SmarthostUser     string `help:"Name to log in with at the smarthost." placeholder:"NAME"`
	SmarthostPassword string `help:"Password for that; better as INBOXD_SMARTHOST_PASSWORD, which no list of processes shows." placeholder:"PASSWORD"`
	SmarthostTLS      string `help:"TLS to the smarthost: auto (verified with a password, else if offered), required (STARTTLS, verified), implicit (from the first byte, verified) or none." enum:"auto,required,implicit,none" default:"auto" name:"smarthost-tls"`

	MXPort        int           `help:"Port of the recipients' servers." default:"25" placeholder:"N" name:"mx-port"`
	DeliveryAllow []string      `help:"Networks that mail may be sent to although they are no public ones." placeholder:"CIDR"`
	RetrySchedule string        `help:"Waits between attempts to send; the last one repeats (default 1m,5m,15m,30m,1h,2h,4h)." placeholder:"LIST"`
	RetryFor      time.Duration `help:"How long a mail is tried before it failed." default:"48h"`
}

// schedule reads the flags of retries.
func (f *sendingFlags) schedule() (s delivery.Schedule, err error) {
	if s.For = f.RetryFor; s.For <= 0 {
		return s, fmt.Errorf("--retry-for %v must be longer than nothing", f.RetryFor)
	}
	if f.RetrySchedule != "" {
		if s.Delays, err = delivery.ParseDelays(f.RetrySchedule); err != nil {
			return s, fmt.Errorf("--retry-schedule %q: %w", f.RetrySchedule, err)
		}
	}
	return s, nil
}

var tlsModes = map[string]courier.TLSMode{"auto": courier.TLSAuto, "required": courier.TLSRequired, "implicit": courier.TLSImplicit, "none": courier.TLSNone}

// smarthost reads the flags of the servers that take mail.
func (f *sendingFlags) smarthost() (courier.Smarthost, error) {
	if f.MXPort < 1 || f.MXPort > 65535 {
		return courier.Smarthost{}, fmt.Errorf("--mx-port %d is no port, which is 1 to 65535", f.MXPort)
	}
	s := courier.Smarthost{Addr: f.Smarthost, Username: f.SmarthostUser, Password: f.SmarthostPassword, TLS: tlsModes[f.SmarthostTLS]}
	if s.Addr == "" {
		if s.Username != "" || s.Password != "" {
			return s, errors.New("--smarthost-user and --smarthost-password are for a --smarthost, and there is none")
		}
		return s, nil
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		return s, fmt.Errorf("--smarthost %q must be HOST:PORT, such as smtp.example.com:587", s.Addr)
	}
	switch {
	case (s.Username == "") != (s.Password == ""):
		return s, errors.New("--smarthost-user and --smarthost-password go together")
	case s.SendsClear():
		return s, errors.New("--smarthost-tls none would send the password in clear; only a smarthost on this machine may have that")
	}
	return s, nil
}

// route is the courier as the mail queue wants it.
type route struct{ *courier.Courier }

var _ mailqueue.Courier = route{}

// Deliver implements mailqueue.Courier.
func (r route) Deliver(ctx context.Context, c mailqueue.Consignment) []mailqueue.Handover {
	reports := r.Courier.Deliver(ctx, courier.Consignment(c))
	out := make([]mailqueue.Handover, len(reports))
	for i, report := range reports {
		out[i] = mailqueue.Handover(report)
	}
	return out
}
