package account

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// planFigure is one number or switch of a plan that the operator may change.
type planFigure struct {
	name       string
	minValue   int64
	maxValue   int64
	setNumber  func(*Plan, int64)
	setAllowed func(*Plan, bool) // for a switch; then set is nil
}

// The bounds catch typing errors that would make a plan unusable or too large for one node.
var planFigures = []planFigure{
	{name: "max_inboxes", minValue: 0, maxValue: 10_000_000, setNumber: func(p *Plan, n int64) { p.MaxInboxes = n }},
	{name: "default_retention_hours", minValue: 1, maxValue: 87_600, setNumber: func(p *Plan, n int64) { p.DefaultRetentionHours = int(n) }},
	{name: "max_retention_hours", minValue: 1, maxValue: 87_600, setNumber: func(p *Plan, n int64) { p.MaxRetentionHours = int(n) }},
	{name: "labels", setAllowed: func(p *Plan, on bool) { p.LabelsAllowed = on }},
	{name: "subdomains", setAllowed: func(p *Plan, on bool) { p.Subdomains = on }},
	{name: "max_subdomains", minValue: 0, maxValue: 10_000, setNumber: func(p *Plan, n int64) { p.MaxSubdomains = n }},
	{name: "max_keys", minValue: 1, maxValue: 100_000, setNumber: func(p *Plan, n int64) { p.MaxKeys = n }},
	{name: "sends_per_day", minValue: 0, maxValue: 100_000_000, setNumber: func(p *Plan, n int64) { p.SendsPerDay = n }},
	{name: "max_recipients", minValue: 1, maxValue: 1000, setNumber: func(p *Plan, n int64) { p.MaxRecipients = int(n) }},
	{name: "max_attachments", minValue: 0, maxValue: 100, setNumber: func(p *Plan, n int64) { p.MaxAttachments = int(n) }},
	{name: "max_attachment_bytes", minValue: 0, maxValue: 23 << 20, setNumber: func(p *Plan, n int64) { p.MaxAttachmentBytes = n }}, // fits a body of 32 MB in base64
	{name: "max_webhooks", minValue: 0, maxValue: 1000, setNumber: func(p *Plan, n int64) { p.MaxWebhooks = int(n) }},
	{name: "max_messages", minValue: 1, maxValue: 100_000, setNumber: func(p *Plan, n int64) { p.MaxMessages = int(n) }}, // a mark copies a list of this length
	{name: "max_bytes", minValue: 1 << 10, maxValue: 1 << 40, setNumber: func(p *Plan, n int64) { p.MaxBytes = n }},
}

// WithOverrides returns the plans with the operator's figures: plan → figure → int64 or bool.
// Errors are sentences for the operator.
func (p Plans) WithOverrides(changes map[string]map[string]any) (Plans, error) {
	out := maps.Clone(p)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		plan, known := out[PlanName(name)]
		if !known {
			return nil, fmt.Errorf("[plans.%s]: unknown plan. Valid plans: free, paid", name)
		}
		for _, key := range slices.Sorted(maps.Keys(changes[name])) {
			if err := plan.setFigure(key, changes[name][key]); err != nil {
				return nil, fmt.Errorf("[plans.%s]: %w", name, err)
			}
		}
		if plan.DefaultRetentionHours > plan.MaxRetentionHours {
			return nil, fmt.Errorf("[plans.%s]: default_retention_hours = %d is above max_retention_hours = %d", name, plan.DefaultRetentionHours, plan.MaxRetentionHours)
		}
		out[plan.Name] = plan
	}
	return out, nil
}

func (p *Plan) setFigure(name string, value any) error {
	i := slices.IndexFunc(planFigures, func(f planFigure) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("unknown figure %s. Valid figures: %s", name, strings.Join(figureNames(), ", "))
	}
	f := planFigures[i]
	if f.setAllowed != nil {
		on, ok := value.(bool)
		if !ok {
			return fmt.Errorf("%s = %v must be true or false", name, value)
		}
		f.setAllowed(p, on)
		return nil
	}
	n, ok := value.(int64)
	if !ok || n < f.minValue || n > f.maxValue {
		return fmt.Errorf("%s = %v must be a whole number from %d to %d", name, value, f.minValue, f.maxValue)
	}
	f.setNumber(p, n)
	return nil
}

func figureNames() []string {
	names := make([]string, len(planFigures))
	for i, f := range planFigures {
		names[i] = f.name
	}
	return names
}
