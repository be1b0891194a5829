package html

import "strings"

// visibilityBits are the properties that decide whether text is visible, as bits.
type visibilityBits uint32

const (
	displayNone visibilityBits = 1 << iota
	zeroOpacity
	zeroHeight  // max-height:0, or height:0 with overflow:hidden
	outlookHide // mso-hide:all
	offIndent   // text-indent far outside of the visible area; the next three by position and margin
	offLeft
	offTop
	offMargin
	zeroClip
	zeroShape // clip-path
	zeroScale
	noContent   // an element without visible text: style, script, title and others
	invisible   // visibility:hidden, inherited until a child is visible again
	tinyFont    // a very small font-size, also inherited
	faintText   // in the color of the background, or nearly transparent
	paintedText // text-shadow or background-clip:text: the color alone does not say whether it is visible
	preformatted
	overflowHidden
	flatHeight         // height:0
	inlineBox          // display: inline, inline-block, ...
	blockBox           // display: block, flex, table, ...
	hasColor           // color
	hasBackground      // background-color
	hasBackgroundImage // background-image
)

// Sets of looks.
const (
	displayBits   = displayNone | inlineBox | blockBox
	offscreenBits = offIndent | offLeft | offTop | offMargin | zeroClip | zeroShape | zeroScale
	removedBits   = displayNone | zeroOpacity | zeroHeight | outlookHide | noContent | offscreenBits // for the whole subtree
	inheritedBits = invisible | tinyFont | paintedText | preformatted
	unshown       = removedBits | invisible | tinyFont // nothing is drawn, whatever its color
	hidingBits    = unshown | faintText
	paintBits     = hasColor | hasBackground | hasBackgroundImage | paintedText

	// legitimateHiding are the ways in which layouts legitimately hide text: preview texts, and
	// text for other screens. Text that is hidden only in other ways counts as disguised.
	legitimateHiding = displayNone | zeroHeight | outlookHide | noContent
)

// style is what one rule or attribute declares: the properties that it names, those that it sets,
// and those that are !important.
type style struct {
	declared, on, important          visibilityBits
	foregroundColor, backgroundColor color // valid if colored and backed are declared
}

// cascadeOver returns s on top of base: a declaration of s wins, unless only that of base is important.
func (s style) cascadeOver(base style) style {
	if base.declared == 0 {
		return s
	}
	wins := s.declared &^ (base.important &^ s.important)
	over := style{
		declared:        base.declared | s.declared,
		on:              base.on&^wins | s.on&wins,
		important:       base.important | s.important,
		foregroundColor: base.foregroundColor,
		backgroundColor: base.backgroundColor,
	}
	if wins&hasColor != 0 {
		over.foregroundColor = s.foregroundColor
	}
	if wins&hasBackground != 0 {
		over.backgroundColor = s.backgroundColor
	}
	return over
}

// resolveInside returns the looks of an element with this style inside a parent.
func (s style) resolveInside(parent visibilityBits) visibilityBits {
	on := s.on &^ (hasColor | hasBackground | hasBackgroundImage)
	if on&(flatHeight|overflowHidden) == flatHeight|overflowHidden {
		on |= zeroHeight
	}
	return on | parent&removedBits | parent&inheritedBits&^s.declared
}

// parseStyle parses the declarations of a style attribute or of one rule.
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
		s = declared.cascadeOver(s)
	}
	return s
}

// declareProperty returns a style that declares one property, and sets it if on is true.
func declareProperty(property visibilityBits, on bool) style {
	if on {
		return style{declared: property, on: property}
	}
	return style{declared: property}
}

// displayOf returns the looks of a value of display.
func displayOf(value string) visibilityBits {
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
