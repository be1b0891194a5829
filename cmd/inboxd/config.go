package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// configFile is the flag that names the config file. kong's own type does not name the flag in its
// errors.
type configFile string

// BeforeResolve is called by kong before it resolves flag values.
func (configFile) BeforeResolve(k *kong.Kong, ctx *kong.Context, trace *kong.Path) error {
	name := string(ctx.FlagValue(trace.Flag).(configFile))
	values, err := k.LoadConfig(name)
	var unread *fs.PathError
	if errors.As(err, &unread) {
		return fmt.Errorf("--config: cannot read %s: %w", name, err)
	} else if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	ctx.AddResolver(values)
	return nil
}

// readTOML returns the flag values of a TOML file whose keys are the long names of the flags.
// Unknown keys are refused: a typo must not silently leave a default in force. Errors begin with the
// place, FILE:LINE:COLUMN.
func readTOML(r io.Reader) (kong.Resolver, error) {
	t := tomlResolver{places: map[string]string{}}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	file := "the config file"
	if named, ok := r.(interface{ Name() string }); ok {
		file = named.Name()
	}
	var invalid *toml.DecodeError
	if err := toml.Unmarshal(text, &t.values); errors.As(err, &invalid) {
		line, column := invalid.Position()
		return nil, fmt.Errorf("%s:%d:%d: the config file is not valid TOML: %w", file, line, column, err)
	} else if err != nil {
		return nil, fmt.Errorf("%s: the config file is not valid TOML: %w", file, err)
	}
	var p unstable.Parser
	for p.Reset(text); p.NextExpression(); {
		e := p.Expression()
		inTable := t.tableSeen
		t.tableSeen = inTable || e.Kind != unstable.KeyValue && e.Kind != unstable.Comment
		if key := e.Key(); (e.Kind != unstable.KeyValue || !inTable) && key.Next() {
			name, at := string(key.Node().Data), p.Shape(key.Node().Raw).Start
			if t.places[name] == "" {
				t.places[name] = fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
			}
		}
	}
	return &t, nil
}

type tomlResolver struct {
	values    map[string]any
	places    map[string]string // of the top-level keys
	tableSeen bool              // by the parser: keys are no longer at the top
}

// Validate implements kong.Resolver.
func (t *tomlResolver) Validate(app *kong.Application) error {
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		if !serverFlags(app)[key] {
			return fmt.Errorf("%s: the config file has the unknown key %q. %sinboxd serve --help lists the flags, which are the valid keys", t.places[key], key, similarFlags(key))
		}
	}
	return nil
}

// serverFlags are the names of the flags of serve and of the program itself. Only they are keys of
// the config file and variables.
func serverFlags(app *kong.Application) map[string]bool {
	names := map[string]bool{}
	for _, node := range append(app.Children, app.Node) {
		for _, flag := range node.Flags {
			if node == app.Node || node.Name == "serve" {
				names[flag.Name] = true
			}
		}
	}
	return names
}

// similarFlags asks kong which flags an unknown key may mean: `Did you mean "http"? `, or "".
func similarFlags(key string) string {
	k, err := kong.New(&commandLine{}, kong.Vars{"version": ""})
	if err != nil {
		return ""
	}
	if _, err = k.Parse([]string{"serve", "--" + key}); err == nil {
		return ""
	}
	_, similar, found := strings.Cut(err.Error(), ", did you mean ")
	if !found {
		return ""
	}
	return "Did you mean " + strings.ReplaceAll(similar, "--", "") + " "
}

// keepServerVariables removes the variables of flags that only other commands have: a variable must
// not change what a command does that a person types.
func keepServerVariables(k *kong.Kong) error {
	known := serverFlags(k.Model)
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok && !known[flag.Name] {
			flag.Envs, flag.Tag.Envs = nil, nil
		}
		return next(nil)
	})
}

// helpWithDefault adds the default of a flag to its help, unless the help explains it.
func helpWithDefault(v *kong.Value) string {
	if v.Flag != nil && !v.IsBool() && !v.Required && !strings.Contains(strings.ToLower(v.Help), "default") {
		v.Help = strings.TrimSuffix(v.Help, ".") + " (default: " + cmp.Or(v.Default, "none") + ")."
	}
	return kong.DefaultHelpValueFormatter(v)
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
