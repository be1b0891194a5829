package flame

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// called makes a profile of stacks, the innermost function first, and their times.
func called(t *testing.T, stacks map[string]int64) *bytes.Buffer {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	functions := map[string]*profile.Location{}
	for stack, time := range stacks {
		s := &profile.Sample{Value: []int64{1, time}}
		for name := range strings.FieldsSeq(stack) {
			l := functions[name]
			if l == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
				p.Function = append(p.Function, f)
				l = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Location = append(p.Location, l)
				functions[name] = l
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	out := new(bytes.Buffer)
	if err := p.Write(out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDraw(t *testing.T) {
	var out strings.Builder
	err := Draw(&out, called(t, map[string]int64{
		"syscall.write inboxd/http/wire.(*conn).writeAt runtime.goexit": 600,
		"inboxd/http/wire.parse[go.shape/x] runtime.goexit":             399,
		"inboxd/http.rare runtime.goexit":                               1,
	}), "polls <all>")
	if err != nil {
		t.Fatal(err)
	}
	svg := out.String()
	for _, want := range []string{
		"polls &lt;all&gt;", "runtime.goexit: 100.0 %", "inboxd/http/wire.(*conn).writeAt: 60.0 %", `class="kernel" x="10.0"`,
		`class="ours" x="730.0" y="47" width="478.8"`, "wire.parse[go.shape/x]</text>",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in:\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "rare") {
		t.Error("a box of a thousandth is drawn")
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDrawOfNothing(t *testing.T) {
	for name, in := range map[string]io.Reader{"no time": called(t, nil), "no profile": strings.NewReader("<html>")} {
		if err := Draw(io.Discard, in, ""); err == nil {
			t.Errorf("%s: drawn", name)
		}
	}
}
