package html

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
)

// color is the color of a text or a background. The zero value means that none is declared.
type color struct {
	kind       colorKind
	r, g, b, a uint8
}

// colorKind says what is known of a color.
type colorKind uint8

const (
	undeclaredColor colorKind = iota
	inheritColor              // that of the parent, or transparent for a background
	unknownColor              // an image, or a value that this package does not parse
	knownColor
)

// The colors of a message that declares none.
var (
	opaqueWhite = color{knownColor, 255, 255, 255, 255}
	opaqueBlack = color{kind: knownColor, a: 255}
)

//go:embed colors.tsv
var colorTable string

// colorNames maps the color names of CSS to RRGGBB.
var colorNames = func() map[string]string {
	m := make(map[string]string, 150)
	for line := range strings.Lines(colorTable) {
		if name, hex, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			m[name] = hex
		}
	}
	return m
}()

// parseColor parses a color of CSS, in lower case.
func parseColor(s string) color {
	switch s {
	case "transparent":
		return color{kind: knownColor}
	case "inherit", "unset", "revert":
		return color{kind: inheritColor}
	}
	if name, args, ok := strings.Cut(s, "("); ok {
		return functionColor(name, args)
	}
	if hex, ok := strings.CutPrefix(s, "#"); ok {
		return hexColor(hex)
	}
	if hex, ok := colorNames[s]; ok {
		return hexColor(hex)
	}
	return color{kind: unknownColor}
}

// attributeColor parses the value of the attributes bgcolor, color and text, where "#" may be
// missing.
func attributeColor(s string) color {
	s = strings.ToLower(strings.TrimSpace(s))
	if c := parseColor(s); c.kind != unknownColor {
		return c
	}
	return hexColor(s)
}

// hexColor parses RGB, RGBA, RRGGBB or RRGGBBAA.
func hexColor(hex string) color {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return color{kind: unknownColor}
	}
	nibble := func(shift int) uint8 { return uint8(n>>shift&15) * 17 }
	switch len(hex) {
	case 3:
		return color{knownColor, nibble(8), nibble(4), nibble(0), 255}
	case 4:
		return color{knownColor, nibble(12), nibble(8), nibble(4), nibble(0)}
	case 6:
		return color{knownColor, uint8(n >> 16), uint8(n >> 8), uint8(n), 255}
	case 8:
		return color{knownColor, uint8(n >> 24), uint8(n >> 16), uint8(n >> 8), uint8(n)}
	}
	return color{kind: unknownColor}
}

// functionColor parses rgb() and hsl() in both syntaxes: with commas, or with spaces and a slash
// before alpha.
func functionColor(name, args string) color {
	args, _, _ = strings.Cut(args, ")")
	parts := strings.FieldsFunc(args, func(r rune) bool { return r == ',' || r == '/' || r == ' ' })
	name = strings.TrimSuffix(name, "a")
	if len(parts) < 3 || len(parts) > 4 || name != "rgb" && name != "hsl" {
		return color{kind: unknownColor}
	}
	values := [4]float64{3: 1}
	for i, part := range parts {
		n, unit, ok := parseNumber(part)
		if !ok {
			return color{kind: unknownColor}
		}
		switch {
		case i == 3 && unit != "%", name == "hsl" && i == 0:
			values[i] = n
		case name == "rgb" && unit != "%":
			values[i] = n / 255
		default:
			values[i] = n / 100
		}
	}
	if name == "hsl" {
		values[0], values[1], values[2] = fromHSL(values[0], values[1], values[2])
	}
	c := color{kind: knownColor}
	for i, to := range []*uint8{&c.r, &c.g, &c.b, &c.a} {
		*to = uint8(math.Round(255 * min(max(values[i], 0), 1)))
	}
	return c
}

// fromHSL converts a hue in degrees, a saturation and a lightness to red, green and blue, from 0 to
// 1 (CSS Color 4, section 7.1).
func fromHSL(h, s, l float64) (r, g, b float64) {
	s, l = min(max(s, 0), 1), min(max(l, 0), 1)
	part := func(n float64) float64 {
		k := math.Mod(math.Mod(n+h/30, 12)+12, 12)
		return l - s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1))
	}
	return part(0), part(8), part(4)
}

// parseNumber splits "-1.5px" into a number and its unit.
func parseNumber(s string) (n float64, unit string, ok bool) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	n, err := strconv.ParseFloat(digits, 64)
	return n, s[len(digits):], err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// backgroundOf parses the shorthand property background. picture is true if it has an image or
// something that this package does not parse.
func backgroundOf(value string) (c color, picture bool) {
	c = color{kind: knownColor} // the default is transparent
	for value != "" {
		var part string
		part, value = cutPart(value)
		switch {
		case strings.IndexByte(part, '(') >= 0:
			if c = parseColor(part); c.kind != knownColor {
				return c, true
			}
		case part[0] == '#', colorNames[part] != "":
			c = parseColor(part)
		}
	}
	return c, false
}

// cutPart cuts a value at its first white space or comma outside of parentheses.
func cutPart(s string) (part, rest string) {
	depth := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case (isSpace(c) || c == ',') && depth <= 0:
			return s[:max(i, 1)], strings.TrimLeft(s[i:], " \t\r\n\f,")
		}
	}
	return s, ""
}

// on blends c with the background behind it.
func (c color) on(ground color) color {
	switch {
	case c.kind != knownColor || c.a == 255:
		return c
	case c.a == 0, ground.kind != knownColor:
		return ground
	}
	mix := func(above, below uint8) uint8 {
		return uint8((int(above)*int(c.a) + int(below)*(255-int(c.a))) / 255)
	}
	return color{knownColor, mix(c.r, ground.r), mix(c.g, ground.g), mix(c.b, ground.b), 255}
}

// The largest difference from its background at which text counts as invisible, on a scale of 0 to
// 255. On white, #eee and lightyellow are invisible; lightgray is visible.
const (
	closeBrightness = 18 // difference in brightness
	closeChannel    = 32 // difference in each of red, green and blue
	faintAlpha      = 25 // largest alpha that is invisible on every background, about a tenth
)

// unseenOn reports whether text of color c is invisible on a background. Text counts as visible if
// one of the two is unknown.
func (c color) unseenOn(ground color) bool {
	if c.kind != knownColor || c.a > faintAlpha && ground.kind != knownColor {
		return false
	}
	if c.a <= faintAlpha {
		return true
	}
	c = c.on(ground)
	r, g, b := int(c.r)-int(ground.r), int(c.g)-int(ground.g), int(c.b)-int(ground.b)
	brightness := (30*r + 59*g + 11*b) / 100
	return max(r, -r, g, -g, b, -b) <= closeChannel && max(brightness, -brightness) <= closeBrightness
}
