// Package flame draws a processor profile as a flame graph: an SVG in which each box is a function, as wide as its
// share of the time, on top of what called it. It knows pprof's profiles; it refuses to know how one was taken and
// what ran meanwhile.
package flame

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Sizes in pixels. A box of less than least of the whole would be no wider than its border.
const (
	width, row   = 1200.0, 17
	letter       = 6.4 // of the font, in the mean
	margin, head = 10, 30
	least        = 0.0015
)

// box is a function as it was called from the one beneath it.
type box struct {
	name   string
	time   int64
	callee map[string]*box
}

// Draw reads a profile as /debug/pprof/profile gives it and writes the picture.
func Draw(out io.Writer, in io.Reader, title string) error {
	p, err := profile.Parse(in)
	if err != nil {
		return err
	}
	root := grow(p)
	if root.time == 0 {
		return errors.New("the profile holds no time")
	}
	d := drawing{whole: root.time, deepest: root.depth(root.time)}
	d.box(root, 0, 0)
	height := head + d.deepest*row + margin
	_, err = fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="sans-serif" font-size="11">
<style>rect{stroke:#fff;stroke-width:.5}text{pointer-events:none}.ours{fill:#f2a65a}.kernel{fill:#b7c4d6}.go{fill:#dcdcdc}.others{fill:#f3d9a4}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="%d" y="20" font-size="13">%s</text>
%s</svg>
`, width+2*margin, height, margin, html.EscapeString(title), d.String())
	return err
}

// grow makes the tree of all samples. The last value of a sample is its time.
func grow(p *profile.Profile) *box {
	root := &box{name: "all", callee: map[string]*box{}}
	for _, s := range p.Sample {
		time := s.Value[len(s.Value)-1]
		root.time += time
		at := root
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) { // what was inlined stands first
				at = at.call(line.Function.Name, time)
			}
		}
	}
	return root
}

func (b *box) call(name string, time int64) *box {
	c := b.callee[name]
	if c == nil {
		c = &box{name: name, callee: map[string]*box{}}
		b.callee[name] = c
	}
	c.time += time
	return c
}

// shown are the callees that are wide enough, the widest first.
func (b *box) shown(whole int64) (list []*box) {
	for _, c := range b.callee {
		if float64(c.time) >= least*float64(whole) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *box) int { return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.name, b.name)) })
	return list
}

// depth is how many rows it takes.
func (b *box) depth(whole int64) int {
	most := 0
	for _, c := range b.shown(whole) {
		most = max(most, c.depth(whole))
	}
	return 1 + most
}

type drawing struct {
	strings.Builder
	whole   int64
	deepest int
}

// box draws one at its place and all that it called above it.
func (d *drawing) box(b *box, before int64, level int) {
	share := float64(b.time) / float64(d.whole)
	x, y := margin+width*float64(before)/float64(d.whole), head+(d.deepest-1-level)*row
	name := short(b.name)
	fmt.Fprintf(d, `<g><title>%s: %.1f %%</title><rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`, html.EscapeString(b.name), 100*share, side(b.name), x, y, width*share, row)
	if fits := int((width*share - 6) / letter); fits >= 3 {
		if len(name) > fits {
			name = name[:fits-2] + ".."
		}
		fmt.Fprintf(d, `<text x="%.1f" y="%d">%s</text>`, x+3, y+12, html.EscapeString(name))
	}
	d.WriteString("</g>\n")
	for _, c := range b.shown(d.whole) {
		d.box(c, before, level+1)
		before += c.time
	}
}

// short is a function's name without the path of its package.
func short(name string) string {
	if i := strings.IndexByte(name, '['); i > 0 { // of a generic one; its types have paths too
		return path.Base(name[:i]) + name[i:]
	}
	return path.Base(name)
}

// side tells by colours whose a function is.
func side(name string) string {
	pkg, _, _ := strings.Cut(name, ".")
	switch {
	case strings.HasPrefix(name, "inboxd/"), strings.HasPrefix(name, "main."):
		return "ours"
	case strings.Contains(name, "yscall"):
		return "kernel"
	case strings.Contains(pkg, "/") && !strings.HasPrefix(name, "internal/"), strings.HasPrefix(name, "github.com/"):
		return "others"
	default:
		return "go"
	}
}
