package html

import "strings"

// propertyParsers are the CSS properties that decide whether text is visible. Each function parses a
// value in lower case.
var propertyParsers = map[string]func(value string) style{
	"display":    func(v string) style { return style{declared: displayBits, on: displayOf(v)} },
	"visibility": func(v string) style { return declareProperty(invisible, v == "hidden" || v == "collapse") },
	"opacity":    func(v string) style { return declareProperty(zeroOpacity, isFaint(v)) },
	"filter":     func(v string) style { return declareProperty(zeroOpacity, isFaint(argumentsOf(v, "opacity"))) },
	"max-height": func(v string) style { return declareProperty(zeroHeight, isZero(v)) },
	"height":     func(v string) style { return declareProperty(flatHeight, isZero(v)) },
	"overflow":   func(v string) style { return declareProperty(overflowHidden, v == "hidden") },
	"overflow-y": func(v string) style { return declareProperty(overflowHidden, v == "hidden") },
	"mso-hide":   func(v string) style { return declareProperty(outlookHide, v == "all") },

	"text-indent":  func(v string) style { return declareProperty(offIndent, isFar(v)) },
	"left":         func(v string) style { return declareProperty(offLeft, isFar(v)) },
	"right":        func(v string) style { return declareProperty(offLeft, isFar(v)) },
	"top":          func(v string) style { return declareProperty(offTop, isFar(v)) },
	"bottom":       func(v string) style { return declareProperty(offTop, isFar(v)) },
	"margin-left":  func(v string) style { return declareProperty(offMargin, isFar(v)) },
	"margin-top":   func(v string) style { return declareProperty(offMargin, isFar(v)) },
	"margin-right": func(v string) style { return declareProperty(offMargin, isFar(v)) },

	"clip":              func(v string) style { return declareProperty(zeroClip, clipsAll(argumentsOf(v, "rect"))) },
	"clip-path":         func(v string) style { return declareProperty(zeroShape, shapesNothing(v)) },
	"-webkit-clip-path": func(v string) style { return declareProperty(zeroShape, shapesNothing(v)) },
	"transform":         func(v string) style { return declareProperty(zeroScale, scalesAway(v)) },
	"-webkit-transform": func(v string) style { return declareProperty(zeroScale, scalesAway(v)) },
	"scale":             func(v string) style { return declareProperty(zeroScale, anyZero(v, 2)) },
	"zoom":              func(v string) style { return declareProperty(zeroScale, isZero(v)) },

	"font-size": fontSize,
	"font":      parseFont,
	"white-space": func(v string) style {
		return declareProperty(preformatted, strings.HasPrefix(v, "pre") || v == "break-spaces")
	},

	"color":                   textColor,
	"-webkit-text-fill-color": textColor,
	"text-shadow":             func(v string) style { return declareProperty(paintedText, v != "none") },
	"background-clip":         func(v string) style { return declareProperty(paintedText, v == "text") },
	"-webkit-background-clip": func(v string) style { return declareProperty(paintedText, v == "text") },
	"background-color": func(v string) style {
		return style{declared: hasBackground, on: hasBackground, backgroundColor: parseColor(v)}
	},
	"background-image": func(v string) style { return declareProperty(hasBackgroundImage, v != "none") },
	"background": func(v string) style {
		ground, picture := backgroundOf(v)
		s := declareProperty(hasBackgroundImage, picture)
		s.declared, s.on, s.backgroundColor = s.declared|hasBackground, s.on|hasBackground, ground
		return s
	},
}

// propertyLengths is a quick filter, since most declarations are of other properties: for each
// length it has the first letters of the properties of that length, as bits.
var propertyLengths = func() (letters [32]uint32) {
	for name := range propertyParsers {
		letters[len(name)] |= 1 << (name[0] & 31)
	}
	return letters
}()

// propertyNamed finds a property; case does not matter. It returns nil for a property that hides
// nothing.
func propertyNamed(name string) func(value string) style {
	if name == "" || len(name) >= len(propertyLengths) || propertyLengths[len(name)]&(1<<(name[0]&31)) == 0 {
		return nil
	}
	return propertyParsers[strings.ToLower(name)]
}

func textColor(value string) style {
	return style{declared: hasColor, on: hasColor, foregroundColor: parseColor(value)}
}

// fontSize parses a font size. Layouts often set 0 on a table cell and a real size on the elements
// inside. A relative size does not undo the 0, so that fontSize ignores it unless it is tiny
// itself.
func fontSize(value string) style {
	n, unit, ok := parseNumber(value)
	switch {
	case unit == "em", unit == "%", unit == "ex", unit == "ch":
		if unit == "%" {
			n /= 100
		}
		if ok && n < 0.1 {
			return declareProperty(tinyFont, true)
		}
		return style{}
	case unit == "rem", unit == "vw", unit == "vh":
		return declareProperty(tinyFont, ok && n < 0.1)
	}
	return declareProperty(tinyFont, ok && n <= 2) // pixels or points
}

// parseFont parses the shorthand property font. Its size is the first length, or the number before a
// slash.
func parseFont(value string) style {
	for value != "" {
		var part string
		part, value = cutPart(value)
		size, _, height := strings.Cut(part, "/")
		if _, unit, ok := parseNumber(size); ok && (unit != "" || height || size == "0") {
			return fontSize(size)
		}
	}
	return style{}
}

// isZero reports whether a length or number is zero, whatever its unit.
func isZero(value string) bool {
	n, _, ok := parseNumber(value)
	return ok && n == 0
}

// isFaint reports whether an opacity makes text invisible.
func isFaint(value string) bool {
	n, unit, ok := parseNumber(value)
	if unit == "%" {
		n /= 100
	}
	return ok && n <= 0.05
}

// isFar reports whether a length moves text out of the visible area: it is negative and has three
// digits or more.
func isFar(value string) bool {
	return strings.HasPrefix(value, "-") && len(value) >= len("-999px")
}

// argumentsOf returns the arguments of a CSS function at the start of a value, or "".
func argumentsOf(value, name string) string {
	rest, ok := strings.CutPrefix(value, name+"(")
	if !ok {
		return ""
	}
	arguments, _, _ := strings.Cut(rest, ")")
	return strings.TrimSpace(arguments)
}

// parseLengths parses at most four numbers, separated by white space or commas. It returns nil if there
// is anything else.
func parseLengths(arguments string) (all []float64) {
	for arguments != "" && len(all) < 4 {
		var part string
		part, arguments = cutPart(arguments)
		n, _, ok := parseNumber(part)
		if !ok {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// anyZero reports whether one of the first most numbers is zero.
func anyZero(arguments string, most int) bool {
	for i, n := range parseLengths(arguments) {
		if i < most && n == 0 {
			return true
		}
	}
	return false
}

// clipsAll reports whether a rect() with these arguments (top, right, bottom, left) has no visible
// inside.
func clipsAll(arguments string) bool {
	at := parseLengths(arguments)
	return len(at) == 4 && (at[2]-at[0] <= 1 || at[1]-at[3] <= 1)
}

// shapesNothing reports whether a clip-path has no visible inside.
func shapesNothing(value string) bool {
	if at := parseLengths(argumentsOf(value, "inset")); len(at) > 0 && strings.Contains(value, "%") {
		across := at[min(1, len(at)-1)]
		sides := [4]float64{at[0], across, at[0], across} // the defaults of missing sides
		copy(sides[:], at)
		return sides[0]+sides[2] >= 100 || sides[1]+sides[3] >= 100
	}
	for _, name := range [...]string{"circle", "ellipse"} {
		if radius, _, _ := strings.Cut(argumentsOf(value, name), " at "); anyZero(radius, 2) {
			return true
		}
	}
	corners := argumentsOf(value, "polygon")
	return corners != "" && strings.Trim(corners, "0 ,px%") == "" && !strings.ContainsAny(corners, "123456789")
}

// scalesAway reports whether a transform makes text invisible: it scales by 0, or moves it out of
// sight.
func scalesAway(value string) bool {
	for name, rest, ok := strings.Cut(value, "("); ok; name, rest, ok = strings.Cut(rest, "(") {
		var arguments string
		arguments, rest, _ = strings.Cut(rest, ")")
		switch strings.TrimSpace(name) {
		case "scale", "scale3d", "scalex", "scaley":
			if anyZero(arguments, 2) {
				return true
			}
		case "translate", "translatex", "translatey":
			if x, y := cutPart(strings.TrimSpace(arguments)); isFar(x) || isFar(y) {
				return true
			}
		}
	}
	return false
}
