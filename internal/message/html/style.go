package html

import "strings"

// looks are the properties that decide whether a text is seen, as bits.
type looks uint16

const (
	displayNone looks = 1 << iota
	zeroOpacity
	zeroHeight  // max-height:0, or height:0 with the overflow hidden
	outlookHide // mso-hide:all
	offscreen
	noContent   // style, script, title and the like: no text at all
	invisible   // visibility, inherited until a child is visible again
	tiny        // font-size, likewise
	transparent // color, likewise
	preformatted
	overflowHidden
	flatHeight // height:0
	inlineBox  // display: inline, inline-block, ...
	blockBox   // display: block, flex, table, ...
)

const (
	displays  = displayNone | inlineBox | blockBox
	gone      = displayNone | zeroOpacity | zeroHeight | outlookHide | offscreen | noContent // for the whole subtree
	inherited = invisible | tiny | transparent | preformatted
	hiding    = gone | invisible | tiny | transparent
)

// style is what one rule or attribute declares: the properties it names, those that hold,
// and those that are !important.
type style struct {
	declared, on, important looks
}

// over returns s on top of base: what s declares wins, except over something important.
func (s style) over(base style) style {
	wins := s.declared &^ (base.important &^ s.important)
	return style{
		declared:  base.declared | s.declared,
		on:        base.on&^wins | s.on&wins,
		important: base.important | s.important,
	}
}

// inside returns what holds for an element of this style inside a parent.
func (s style) inside(parent looks) looks {
	on := s.on
	if on&(flatHeight|overflowHidden) == flatHeight|overflowHidden {
		on |= zeroHeight
	}
	return on | parent&gone | parent&inherited&^s.declared
}

// parseStyle reads the declarations of a style attribute or of one rule.
func parseStyle(css string) (s style) {
	for css != "" {
		var declaration string
		declaration, css, _ = strings.Cut(css, ";")
		name, value, ok := strings.Cut(declaration, ":")
		if !ok || len(declaration) > 200 {
			continue
		}
		value = strings.ToLower(strings.TrimSpace(value))
		value, important := strings.CutSuffix(value, "important")
		if important {
			value = strings.TrimRight(value, " !")
		}
		s = readProperty(strings.ToLower(strings.TrimSpace(name)), value, important).over(s)
	}
	return s
}

func readProperty(name, value string, important bool) (s style) {
	switch name {
	case "display":
		s = style{declared: displays, on: displayOf(value)}
	case "visibility":
		s = hides(invisible, value == "hidden" || value == "collapse")
	case "opacity":
		s = hides(zeroOpacity, isZero(value))
	case "max-height":
		s = hides(zeroHeight, isZero(value))
	case "height":
		s = hides(flatHeight, isZero(value))
	case "overflow", "overflow-y":
		s = hides(overflowHidden, value == "hidden")
	case "mso-hide":
		s = hides(outlookHide, value == "all")
	case "text-indent", "left", "top", "margin-left":
		s = hides(offscreen, strings.HasPrefix(value, "-") && len(value) >= len("-999px"))
	case "color":
		s = hides(transparent, value == "transparent")
	case "font-size":
		s = fontSize(value)
	case "white-space":
		s = hides(preformatted, strings.HasPrefix(value, "pre") || value == "break-spaces")
	}
	if important {
		s.important = s.declared
	}
	return s
}

func hides(property looks, on bool) style {
	if on {
		return style{declared: property, on: property}
	}
	return style{declared: property}
}

func displayOf(value string) looks {
	switch {
	case value == "none":
		return displayNone
	case strings.HasPrefix(value, "inline"), value == "contents":
		return inlineBox
	case value == "block", value == "flex", value == "grid", value == "list-item", strings.HasPrefix(value, "table"):
		return blockBox
	}
	return 0
}

// fontSize knows that layouts set 0 on a cell and a real size on what is inside, but that a
// part of nothing is nothing.
func fontSize(value string) style {
	switch {
	case isZero(value), value == "1px", value == "1pt":
		return hides(tiny, true)
	case strings.HasSuffix(value, "em") && !strings.HasSuffix(value, "rem"), strings.HasSuffix(value, "%"):
		return style{}
	}
	return hides(tiny, false)
}

// isZero reports whether a length or number is zero, whatever its unit.
func isZero(value string) bool {
	digits := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyz%")
	return strings.ContainsRune(digits, '0') && strings.Trim(digits, "0.") == ""
}

// stylesheet is what the style elements of a mail say about classes. Only rules for one
// class alone (.preheader, td.preheader) outside @media count: they are how templates hide
// the text that is meant for the preview in a list. A renderer owns it.
type stylesheet map[string]style

func (sheet *stylesheet) read(css string) {
	css = removeComments(css)
	for css != "" {
		open := strings.IndexByte(css, '{')
		if open < 0 {
			return
		}
		selectors, rest := css[:open], css[open+1:]
		if semicolon := strings.LastIndexByte(selectors, ';'); semicolon >= 0 {
			selectors = selectors[semicolon+1:] // behind an @import
		}
		end := blockEnd(rest)
		sheet.add(selectors, parseStyle(rest[:end]))
		css = rest[min(end+1, len(rest)):]
	}
}

// add remembers a rule that says something about hiding.
func (sheet *stylesheet) add(selectors string, s style) {
	if s.declared&(hiding|preformatted|overflowHidden|flatHeight|displays) == 0 {
		return
	}
	for selector := range strings.SplitSeq(selectors, ",") {
		selector = strings.TrimSpace(selector)
		dot := strings.LastIndexByte(selector, '.')
		if dot < 0 || strings.ContainsAny(selector, " >+~:[*#\n\t") || strings.IndexByte(selector, '.') != dot {
			continue
		}
		if *sheet == nil {
			*sheet = make(stylesheet)
		}
		class := selector[dot+1:]
		if old, ok := (*sheet)[class]; ok || len(*sheet) < maxClasses {
			(*sheet)[class] = s.over(old)
		}
	}
}

// of returns the style of an element by its class and style attributes.
func (sheet stylesheet) of(class, inline string) (s style) {
	if len(sheet) > 0 && class != "" {
		for name := range strings.FieldsSeq(class) {
			s = sheet[name].over(s)
		}
	}
	if inline != "" {
		s = parseStyle(inline).over(s)
	}
	return s
}

// blockEnd finds the brace that closes a block, nested blocks skipped.
func blockEnd(css string) int {
	depth := 0
	for i := range len(css) {
		switch css[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return len(css)
}

func removeComments(css string) string {
	if !strings.Contains(css, "/*") {
		return css
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(css, "/*")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if _, css, ok = strings.Cut(rest, "*/"); !ok {
			return b.String()
		}
	}
}
