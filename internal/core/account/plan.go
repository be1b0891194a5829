package account

import (
	"fmt"

	"inboxd/internal/base/fault"
)

// PlanName is "free" or "paid".
type PlanName string

// The plans (specification, Plans).
const (
	PlanFree PlanName = "free"
	PlanPaid PlanName = "paid"
)

// Plan is what a plan allows. Every figure is a default that the operator may change.
type Plan struct {
	Name                  PlanName
	MaxInboxes            int64
	DefaultRetentionHours int
	MaxRetentionHours     int
	LabelsAllowed         bool // a label set by a person is stored
	Subdomains            bool // a subdomain may be chosen
	MaxSubdomains         int64

	MaxKeys            int64 // account keys; each inbox may have its own in addition
	SendsPerDay        int64
	MaxRecipients      int   // of one message: to, cc and bcc together
	MaxAttachments     int   // files of one sent message
	MaxAttachmentBytes int64 // of all files of one sent message, before encoding
	MaxWebhooks        int

	MaxMessages int   // messages in one inbox
	MaxBytes    int64 // of all messages in one inbox, as received and sent

	RaiseHint string // a sentence for the operator of a private server, at the end of refusals; may be empty
}

// limitError is the refusal of what exceeds the plan, worded after "plan allows at most".
func (p Plan) limitError(format string, args ...any) error {
	text := p.Name.Title() + " plan allows at most " + fmt.Sprintf(format, args...)
	if p.RaiseHint != "" {
		text += ". " + p.RaiseHint
	}
	return fault.Refuse(fault.CodePlanLimit, "%s", text)
}

// Plans holds the figures of each plan.
type Plans map[PlanName]Plan

// DefaultPlans are the figures in docs/operate/configuration.md (specification, Plans).
func DefaultPlans() Plans {
	return Plans{
		PlanFree: {
			Name: PlanFree, MaxInboxes: 3, DefaultRetentionHours: 24, MaxRetentionHours: 72, MaxSubdomains: 100,
			MaxKeys: 1000, SendsPerDay: 100, MaxRecipients: 10, MaxAttachments: 1, MaxAttachmentBytes: 512 << 10, MaxWebhooks: 10,
			MaxMessages: 10_000, MaxBytes: 500 << 20,
		},
		PlanPaid: {
			Name: PlanPaid, MaxInboxes: 1_000_000, DefaultRetentionHours: 168, MaxRetentionHours: 8760, LabelsAllowed: true, Subdomains: true, MaxSubdomains: 100,
			MaxKeys: 1000, SendsPerDay: 10_000, MaxRecipients: 100, MaxAttachments: 10, MaxAttachmentBytes: 10 << 20, MaxWebhooks: 10,
			MaxMessages: 10_000, MaxBytes: 500 << 20,
		},
	}
}

// Of returns the figures of name, or those of Free for an unknown name.
func (p Plans) Of(name PlanName) Plan {
	if plan, ok := p[name]; ok {
		return plan
	}
	return p[PlanFree]
}

// ParsePlan parses a plan name.
func ParsePlan(s string) (PlanName, error) {
	switch name := PlanName(s); name {
	case PlanFree, PlanPaid:
		return name, nil
	}
	return "", fault.New(fault.InvalidRequest, fmt.Sprintf("Unknown plan %q. Valid plans: free, paid", s))
}

// Title is the plan's name at the beginning of a sentence.
func (n PlanName) Title() string {
	if n == PlanPaid {
		return "Paid"
	}
	return "Free"
}

// EffectiveRetention returns the effective retention in hours. nil gives the default. More than the
// plan's maximum is reduced to it silently (specification, Retention).
func (p Plan) EffectiveRetention(asked *int) int {
	if asked == nil {
		return p.DefaultRetentionHours
	}
	return min(*asked, p.MaxRetentionHours)
}
