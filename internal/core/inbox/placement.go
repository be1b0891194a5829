package inbox

import (
	"fmt"
	"slices"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// CreationRequest is a request for a new inbox (specification, Addresses); nil means not given.
type CreationRequest struct {
	Prefix         *string
	Subdomain      *string
	Domain         *string
	Label          *string
	RetentionHours *int
	KeepNewest     bool
	Encrypted      bool
}

// Namespaces says where the addresses of a service may be.
type Namespaces struct {
	ServiceDomain  string // the service domain
	PlainAddresses bool   // addresses without a subdomain are directly in the service domain
	OwnDomain      string // the verified domain that an order names, canonical; empty: none
}

// Subdomain is the label of an address's service subdomain; empty: not in one.
func (ns Namespaces) Subdomain(addr string) string {
	label, ok := strings.CutSuffix(address.DomainOf(addr), "."+ns.ServiceDomain)
	if !ok || strings.Contains(label, ".") {
		return ""
	}
	return label
}

// Placement is an order after the plan's rules: what will be created, and which known fields were
// not applied.
type Placement struct {
	Address         string
	Subdomain       string // label of its service subdomain; empty: not in one
	RandomSubdomain bool   // the subdomain was generated
	Label           string
	RetentionHours  int
	KeepNewest      bool
	Encrypted       bool
	IgnoredFields   []string
	Note            string
}

// PlaceAddress applies plan to order. The random bits choose the names that the order leaves open.
// Errors: Invalid for an impossible value, Refused by a rule.
func (o CreationRequest) PlaceAddress(plan account.Plan, ns Namespaces, random [3]uint64) (Placement, error) {
	if err := o.checkValues(); err != nil {
		return Placement{}, err
	}
	if err := o.checkAllowed(plan, ns); err != nil {
		return Placement{}, err
	}
	p := Placement{RetentionHours: plan.EffectiveRetention(o.RetentionHours), Label: GeneratedLabel(random[0]), KeepNewest: o.KeepNewest, Encrypted: o.Encrypted}
	prefix := GeneratedPrefix(random[0])
	if o.Prefix != nil {
		prefix = *o.Prefix
	}
	if o.Label != nil {
		if plan.LabelsAllowed {
			p.Label = *o.Label
		} else {
			p.IgnoredFields = append(p.IgnoredFields, "label")
		}
	}
	host := ns.ServiceDomain
	switch {
	case o.Domain != nil:
		host = ns.OwnDomain
	case o.Subdomain != nil && plan.Subdomains:
		p.Subdomain = *o.Subdomain
	case !ns.PlainAddresses:
		p.Subdomain, p.RandomSubdomain = GeneratedSubdomain(random[1]), true
	}
	if p.Subdomain != "" {
		host = p.Subdomain + "." + host
	}
	if o.Subdomain != nil && !plan.Subdomains {
		p.IgnoredFields = append(p.IgnoredFields, "subdomain")
	}
	p.Note = IgnoredNote(plan, p.IgnoredFields)
	p.Address = prefix + "@" + host
	return p, nil
}

// IgnoredNote explains why the named fields were not applied (specification, Plans); empty if there
// are none.
func IgnoredNote(plan account.Plan, ignored []string) string {
	if len(ignored) == 0 {
		return ""
	}
	note := fmt.Sprintf("Not applied, because the %s plan does not cover it: %s. Upgrade the plan to use it", plan.Name.Title(), strings.Join(ignored, ", "))
	if plan.RaiseHint != "" {
		note += ". " + plan.RaiseHint
	}
	return note
}

// CheckRetention refuses less than one hour.
func CheckRetention(hours int) error {
	if hours <= 0 {
		return fault.InvalidField("retention_hours", "is %d; it must be at least 1", hours)
	}
	return nil
}

// checkValues refuses impossible values.
func (o CreationRequest) checkValues() error {
	if o.Domain != nil && o.Subdomain != nil {
		return fault.InvalidField("domain", "and 'subdomain' cannot be given together")
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

// checkAllowed refuses names that belong to others or to the operator. An own domain has no reserved
// prefixes, because its owner is responsible for it.
func (o CreationRequest) checkAllowed(plan account.Plan, ns Namespaces) error {
	switch {
	case o.Domain != nil && ns.OwnDomain == "":
		return fault.RefuseField("domain", fault.CodeDomainNotVerified, "The domain %s is not a verified domain of this account", *o.Domain)
	case o.Domain == nil && o.Prefix != nil && slices.Contains(reservedPrefixes, *o.Prefix):
		return fault.RefuseField("prefix", fault.CodeAddressTaken, "The prefix %q is reserved", *o.Prefix)
	case o.Subdomain != nil && plan.Subdomains && isReservedLabel(*o.Subdomain):
		return fault.RefuseField("subdomain", fault.CodeAddressTaken, "The subdomain %q is reserved", *o.Subdomain)
	}
	return nil
}
