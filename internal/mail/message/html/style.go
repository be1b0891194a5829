package html

import "strings"

// looks are the properties that decide whether a text is seen, as bits.
type looks uint32

const (
	displayNone looks = 1 << iota
	zeroOpacity
	zeroHeight  // max-height:0, or height:0 with the overflow hidden
	outlookHide // mso-hide:all
	offIndent   // far outside of what is shown
	offLeft
	offTop
	offMargin
	zeroClip
	zeroShape // clip-path
	zeroScale
	noContent // style, script, title and the like: no text at all
	invisible // visibility, inherited until a child is visible again
	tiny      // font-size, likewise
	faint     // in the colour of the background, or nearly transparent
	painted   // text-shadow or background-clip:text: its colour does not tell what is seen
	preformatted
	overflowHidden
	flatHeight // height:0
	inlineBox  // display: inline, inline-block, ...
	blockBox   // display: block, flex, table, ...
	colored    // color
	backed     // background-color
	pictured   // background-image
)

const (
	displays  = displayNone | inlineBox | blockBox
	outside   = offIndent | offLeft | offTop | offMargin | zeroClip | zeroShape | zeroScale
	gone      = displayNone | zeroOpacity | zeroHeight | outlookHide | noContent | outside // for the whole subtree
	inherited = invisible | tiny | painted | preformatted
	unshown   = gone | invisible | tiny // nothing is drawn, whatever its colour
	hiding    = unshown | faint
	paints    = colored | backed | pictured | painted

	// quiet are the ways in which layouts switch text off: previews, and what is for other screens.
	// What is hidden in any other way alone is drawn, but so that nobody sees it.
	quiet = displayNone | zeroHeight | outlookHide | noContent
)

// style is what one rule or attribute declares: the properties it names, those that hold,
// and those that are !important.
type style struct {
	declared, on, important looks
	text, ground            color // when colored and backed are declared
}

// over returns s on top of base: what s declares wins, except over something important.
func (s style) over(base style) style {
	if base.declared == 0 {
		return s
	}
	wins := s.declared &^ (base.important &^ s.important)
	over := style{
		declared:  base.declared | s.declared,
		on:        base.on&^wins | s.on&wins,
		important: base.important | s.important,
		text:      base.text,
		ground:    base.ground,
	}
	if wins&colored != 0 {
		over.text = s.text
	}
	if wins&backed != 0 {
		over.ground = s.ground
	}
	return over
}

// inside returns what holds for an element of this style inside a parent.
func (s style) inside(parent looks) looks {
	on := s.on &^ (colored | backed | pictured)
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
		property := propertyNamed(strings.TrimSpace(name))
		if !ok || property == nil || len(declaration) > 200 {
			continue
		}
		value = strings.ToLower(strings.TrimSpace(value))
		value, important := strings.CutSuffix(value, "important")
		if important {
			value = strings.TrimRight(value, " !")
		}
		declared := property(value)
		if important {
			declared.important = declared.declared
		}
		s = declared.over(s)
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
