package html

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
)

// color is a colour of text or background. The zero value is none that was declared.
type color struct {
	kind       colorKind
	r, g, b, a uint8
}

type colorKind uint8

const (
	undeclared   colorKind = iota
	inheritColor           // the parent's, or transparent for a background
	unknownColor           // an image, or what this package does not read
	knownColor
)

var (
	white = color{knownColor, 255, 255, 255, 255}
	black = color{kind: knownColor, a: 255}
)

//go:embed colors.tsv
var colorTable string

// colorNames maps the names of CSS to RRGGBB.
var colorNames = func() map[string]string {
	m := make(map[string]string, 150)
	for line := range strings.Lines(colorTable) {
		if name, hex, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			m[name] = hex
		}
	}
	return m
}()

// parseColor reads a colour of CSS, in small letters.
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

// attributeColor reads the value of bgcolor, color or text, where the # may be missing.
func attributeColor(s string) color {
	s = strings.ToLower(strings.TrimSpace(s))
	if c := parseColor(s); c.kind != unknownColor {
		return c
	}
	return hexColor(s)
}

// hexColor reads RGB, RGBA, RRGGBB or RRGGBBAA.
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

// functionColor reads rgb() and hsl(), old and new: commas, or blanks and a slash before the alpha.
func functionColor(name, args string) color {
	args, _, _ = strings.Cut(args, ")")
	parts := strings.FieldsFunc(args, func(r rune) bool { return r == ',' || r == '/' || r == ' ' })
	name = strings.TrimSuffix(name, "a")
	if len(parts) < 3 || len(parts) > 4 || name != "rgb" && name != "hsl" {
		return color{kind: unknownColor}
	}
	values := [4]float64{3: 1}
	for i, part := range parts {
		n, unit, ok := number(part)
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

// fromHSL gives red, green and blue of a hue in degrees, a saturation and a lightness (CSS Color 4, section 7.1).
func fromHSL(h, s, l float64) (r, g, b float64) {
	s, l = min(max(s, 0), 1), min(max(l, 0), 1)
	part := func(n float64) float64 {
		k := math.Mod(math.Mod(n+h/30, 12)+12, 12)
		return l - s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1))
	}
	return part(0), part(8), part(4)
}

// number splits "-1.5px" into a number and its unit.
func number(s string) (n float64, unit string, ok bool) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	n, err := strconv.ParseFloat(digits, 64)
	return n, s[len(digits):], err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// backgroundOf reads the shorthand: its colour, and whether it has an image or anything else that is not understood.
func backgroundOf(value string) (c color, picture bool) {
	c = color{kind: knownColor} // transparent, unless it says otherwise
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

// cutPart cuts a value at its first blank or comma outside of brackets.
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

// on returns what is seen of c over a background.
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

// How much text may differ from its background and yet not be seen, in steps of 255: in brightness, and in any
// of red, green and blue. #eee on white is not seen, lightgray is; nor is lightyellow.
const (
	closeBrightness = 18
	closeChannel    = 32
	faintAlpha      = 25 // a tenth of the text's colour
)

// unseenOn reports whether nobody sees a text of colour c on a background. Nothing is known of an unknown one.
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
