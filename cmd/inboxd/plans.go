package main

import (
	"fmt"

	"github.com/pelletier/go-toml/v2"
)

// planFigures holds the tables [plans.free] and [plans.paid] of the config file: plan → figure →
// value.
type planFigures map[string]map[string]any

// UnmarshalText implements encoding.TextUnmarshaler; text is TOML.
func (p *planFigures) UnmarshalText(text []byte) error {
	tables := map[string]any{}
	if err := toml.Unmarshal(text, &tables); err != nil {
		return fmt.Errorf("the plans are not valid TOML: %w", err)
	}
	*p = planFigures{}
	for plan, table := range tables {
		figures, ok := table.(map[string]any)
		if !ok {
			return fmt.Errorf("the plan %s must be a table, [plans.%s]", plan, plan)
		}
		(*p)[plan] = figures
	}
	return nil
}
