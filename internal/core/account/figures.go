package account

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// figure is one number or switch of a plan that the operator may change.
type figure struct {
	name  string
	least int64
	most  int64
	set   func(*Plan, int64)
	allow func(*Plan, bool) // for a switch; then set is nil
}

// The bounds catch typing errors that would make a plan unusable or too large for one node.
var figures = []figure{
	{name: "max_inboxes", least: 0, most: 10_000_000, set: func(p *Plan, n int64) { p.MaxInboxes = n }},
	{name: "default_retention_hours", least: 1, most: 87_600, set: func(p *Plan, n int64) { p.DefaultRetentionHours = int(n) }},
	{name: "max_retention_hours", least: 1, most: 87_600, set: func(p *Plan, n int64) { p.MaxRetentionHours = int(n) }},
	{name: "labels", allow: func(p *Plan, on bool) { p.Labels = on }},
	{name: "subdomains", allow: func(p *Plan, on bool) { p.Subdomains = on }},
	{name: "max_subdomains", least: 0, most: 10_000, set: func(p *Plan, n int64) { p.MaxSubdomains = n }},
	{name: "max_keys", least: 1, most: 100_000, set: func(p *Plan, n int64) { p.MaxKeys = n }},
	{name: "sends_per_day", least: 0, most: 100_000_000, set: func(p *Plan, n int64) { p.SendsPerDay = n }},
	{name: "max_recipients", least: 1, most: 1000, set: func(p *Plan, n int64) { p.MaxRecipients = int(n) }},
	{name: "max_attachments", least: 0, most: 100, set: func(p *Plan, n int64) { p.MaxAttachments = int(n) }},
	{name: "max_attachment_bytes", least: 0, most: 23 << 20, set: func(p *Plan, n int64) { p.MaxAttachmentBytes = n }}, // fits a body of 32 MB in base64
	{name: "max_webhooks", least: 0, most: 1000, set: func(p *Plan, n int64) { p.MaxWebhooks = int(n) }},
	{name: "max_messages", least: 1, most: 100_000, set: func(p *Plan, n int64) { p.MaxMessages = int(n) }}, // a mark copies a list of this length
	{name: "max_bytes", least: 1 << 10, most: 1 << 40, set: func(p *Plan, n int64) { p.MaxBytes = n }},
}

// With returns the plans with the operator's figures: plan → figure → int64 or bool. Errors are
// sentences for the operator.
func (p Plans) With(changes map[string]map[string]any) (Plans, error) {
	out := maps.Clone(p)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		plan, known := out[PlanName(name)]
		if !known {
			return nil, fmt.Errorf("[plans.%s]: unknown plan. Valid plans: free, paid", name)
		}
		for _, key := range slices.Sorted(maps.Keys(changes[name])) {
			if err := plan.change(key, changes[name][key]); err != nil {
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

func (p *Plan) change(name string, value any) error {
	i := slices.IndexFunc(figures, func(f figure) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("unknown figure %s. Valid figures: %s", name, strings.Join(figureNames(), ", "))
	}
	f := figures[i]
	if f.allow != nil {
		on, ok := value.(bool)
		if !ok {
			return fmt.Errorf("%s = %v must be true or false", name, value)
		}
		f.allow(p, on)
		return nil
	}
	n, ok := value.(int64)
	if !ok || n < f.least || n > f.most {
		return fmt.Errorf("%s = %v must be a whole number from %d to %d", name, value, f.least, f.most)
	}
	f.set(p, n)
	return nil
}

func figureNames() []string {
	names := make([]string, len(figures))
	for i, f := range figures {
		names[i] = f.name
	}
	return names
}
