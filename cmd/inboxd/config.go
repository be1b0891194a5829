package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// configFile is the flag that names the config file. kong's own type does not name the flag in its
// errors.
type configFile string

// BeforeResolve is called by kong before it resolves flag values.
func (configFile) BeforeResolve(k *kong.Kong, ctx *kong.Context, trace *kong.Path) error {
	name := string(ctx.FlagValue(trace.Flag).(configFile))
	values, err := k.LoadConfig(name)
	if err != nil {
		return fmt.Errorf("--config: cannot read %s: %w", name, err)
	}
	ctx.AddResolver(values)
	return nil
}

// readTOML returns the flag values of a TOML file whose keys are the long names of the flags.
// Unknown keys are refused: a typo must not silently leave a default in force.
func readTOML(r io.Reader) (kong.Resolver, error) {
	values := map[string]any{}
	if err := toml.NewDecoder(r).Decode(&values); err != nil {
		return nil, fmt.Errorf("the config file is not valid TOML: %w", err)
	}
	return &tomlResolver{values}, nil
}

type tomlResolver struct{ values map[string]any }

// Validate implements kong.Resolver.
func (t *tomlResolver) Validate(app *kong.Application) error {
	known := map[string]bool{}
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			known[flag.Name] = true
		}
		return next(nil)
	})
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		if !known[key] {
			return fmt.Errorf("the config file has the unknown key %q. inboxd serve --help lists the flags, which are the valid keys", key)
		}
	}
	return nil
}

// Resolve implements kong.Resolver. Lists become the comma-joined form of the flag. The environment
// takes precedence over the file; kong itself would do the opposite.
func (t *tomlResolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	v, ok := t.values[flag.Name]
	if !ok || inEnvironment(flag) {
		return nil, nil
	}
	if tables, ok := v.(map[string]any); ok {
		text, err := toml.Marshal(tables)
		return string(text), err
	}
	if list, ok := v.([]any); ok {
		if !flag.IsSlice() {
			return nil, fmt.Errorf("the config file: %s takes one value, not a list", flag.Name)
		}
		parts := make([]string, len(list))
		for i, item := range list {
			parts[i] = fmt.Sprint(item)
		}
		return strings.Join(parts, ","), nil
	}
	return fmt.Sprint(v), nil
}

func inEnvironment(flag *kong.Flag) bool {
	return slices.ContainsFunc(flag.Envs, func(name string) bool {
		_, set := os.LookupEnv(name)
		return set
	})
}
