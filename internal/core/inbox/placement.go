package inbox

import (
	"fmt"
	"slices"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// Order is what somebody asks of a new inbox (specification, Addresses); nil is left out.
type Order struct {
	Prefix         *string
	Subdomain      *string
	Domain         *string
	Label          *string
	RetentionHours *int
	KeepNewest     bool
	Encrypted      bool
}

// Namespaces says where the addresses of a service may live.
type Namespaces struct {
	Domain string // the service domain
	Plain  bool   // addresses without a subdomain get the service domain itself
	Own    string // the verified domain that an order names, canonical; empty: none is
}

// Subdomain is the label of the service's subdomain that an address lives in; empty: in none.
func (ns Namespaces) Subdomain(addr string) string {
	label, ok := strings.CutSuffix(address.DomainOf(addr), "."+ns.Domain)
	if !ok || strings.Contains(label, ".") {
		return ""
	}
	return label
}

// Placement is an order after the plan's rules: what will be created, and which known
// fields were not applied.
type Placement struct {
	Address        string
	Subdomain      string // label of the service's subdomain that it lives in; empty: in none
	Random         bool   // the subdomain was drawn
	Label          string
	RetentionHours int
	KeepNewest     bool
	Encrypted      bool
	Ignored        []string
	Note           string
}

// Place applies plan to order. The random bits name what the order leaves open. Errors:
// Invalid for a value that can't be, Refused for a rule.
func (o Order) Place(plan account.Plan, ns Namespaces, random [3]uint64) (Placement, error) {
	if err := o.check(); err != nil {
		return Placement{}, err
	}
	if err := o.allowed(plan, ns); err != nil {
		return Placement{}, err
	}
	p := Placement{RetentionHours: plan.Retention(o.RetentionHours), Label: GeneratedLabel(random[0]), KeepNewest: o.KeepNewest, Encrypted: o.Encrypted}
	prefix := GeneratedPrefix(random[0])
	if o.Prefix != nil {
		prefix = *o.Prefix
	}
	if o.Label != nil {
		if plan.Labels {
			p.Label = *o.Label
		} else {
			p.Ignored = append(p.Ignored, "label")
		}
	}
	host := ns.Domain
	switch {
	case o.Domain != nil:
		host = ns.Own
	case o.Subdomain != nil && plan.Subdomains:
		p.Subdomain = *o.Subdomain
	case !ns.Plain:
		p.Subdomain, p.Random = GeneratedSubdomain(random[1]), true
	}
	if p.Subdomain != "" {
		host = p.Subdomain + "." + host
	}
	if o.Subdomain != nil && !plan.Subdomains {
		p.Ignored = append(p.Ignored, "subdomain")
	}
	p.Note = IgnoredNote(plan, p.Ignored)
	p.Address = prefix + "@" + host
	return p, nil
}

// IgnoredNote says why the named fields were not applied (specification, Plans);
// empty when there are none.
func IgnoredNote(plan account.Plan, ignored []string) string {
	if len(ignored) == 0 {
		return ""
	}
	return fmt.Sprintf("Not applied, because the %s plan does not cover it: %s. Upgrade the plan to use it", plan.Name.Title(), strings.Join(ignored, ", "))
}

// CheckRetention refuses a time of no hours.
func CheckRetention(hours int) error {
	if hours <= 0 {
		return fault.Field("retention_hours", "is %d; it must be at least 1", hours)
	}
	return nil
}

// check refuses values that can't be.
func (o Order) check() error {
	if o.Domain != nil && o.Subdomain != nil {
		return fault.Field("domain", "and 'subdomain' can't be given together")
	}
	if o.RetentionHours != nil {
		if err := CheckRetention(*o.RetentionHours); err != nil {
			return err
		}
	}
	if o.Subdomain != nil {
		if err := CheckLabel(*o.Subdomain); err != nil {
			return err
		}
	}
	if o.Prefix != nil {
		return CheckPrefix(*o.Prefix)
	}
	return nil
}

// allowed refuses names that are somebody else's, or the operator's. On an own domain no prefix is:
// its owner answers for it.
func (o Order) allowed(plan account.Plan, ns Namespaces) error {
	switch {
	case o.Domain != nil && ns.Own == "":
		return fault.New(fault.Refused, fmt.Sprintf("The domain %s is not a verified domain of this account", *o.Domain))
	case o.Domain == nil && o.Prefix != nil && slices.Contains(reservedPrefixes, *o.Prefix):
		return fault.New(fault.Refused, fmt.Sprintf("The prefix %q is reserved", *o.Prefix))
	case o.Subdomain != nil && plan.Subdomains && isReservedLabel(*o.Subdomain):
		return fault.New(fault.Refused, fmt.Sprintf("The subdomain %q is reserved", *o.Subdomain))
	}
	return nil
}
