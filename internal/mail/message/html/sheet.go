package html

import "strings"

// stylesheet has the rules of the style elements of a message outside of @media. It applies rules
// for one class (.preheader, td.preheader), and of the rules for one element those that hide or
// color. It does not match other selectors with elements; the colors that they may set are unknown.
// A renderer owns it.
type stylesheet struct {
	classes  map[string]style
	tags     map[elementTag]style
	catchAll style // colors that rules with other selectors make unknown
}

// parseSheet parses the text of a style element.
func (sheet *stylesheet) parseSheet(css string) {
	if css = removeComments(css); strings.Contains(css, "--") {
		css = markupComments.Replace(css)
	}
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
		if selectors = strings.TrimSpace(selectors); !strings.HasPrefix(selectors, "@") {
			sheet.addRule(selectors, parseStyle(rest[:end]))
		}
		css = rest[min(end+1, len(rest)):]
	}
}

// addRule adds a rule, unless it has nothing to do with visibility.
func (sheet *stylesheet) addRule(selectors string, s style) {
	if s.declared&(hidingBits|paintBits|preformatted|overflowHidden|flatHeight|displayBits) == 0 {
		return
	}
	for selector := range strings.SplitSeq(selectors, ",") {
		selector = strings.TrimSpace(selector)
		last := selector[strings.LastIndexAny(selector, " >+~\n\t")+1:]
		name, pseudo, _ := strings.Cut(last, ":")
		plain, _, _ := strings.Cut(name, "[")
		if plain == selector && strings.IndexByte(plain, '#') < 0 && strings.Count(plain, ".") < 2 && plain != "*" {
			sheet.storeRule(plain, s)
		} else if !isMomentary(pseudo) {
			sheet.storeRule(plain, s.withUnknownColors())
		}
	}
}

// isMomentary reports whether a pseudo-class applies only during an interaction, or only to a part of
// the text.
func isMomentary(pseudo string) bool {
	pseudo = strings.ToLower(strings.TrimLeft(pseudo, ":"))
	switch pseudo {
	case "hover", "active", "focus", "visited", "selection", "before", "after", "placeholder":
		return true
	}
	return false
}

// withUnknownColors returns the effect of a rule that may or may not apply: the colors that it sets
// become unknown.
func (s style) withUnknownColors() style {
	return style{declared: s.declared & (hasColor | hasBackground | hasBackgroundImage), on: s.declared & (hasColor | hasBackground | hasBackgroundImage), foregroundColor: color{kind: unknownColor}, backgroundColor: color{kind: unknownColor}}
}

// storeRule stores a style under the class at the end of a selector, or else under its element.
func (sheet *stylesheet) storeRule(selector string, s style) {
	name, class, classed := strings.Cut(selector, ".")
	name, _, identified := strings.Cut(name, "#")
	switch {
	case classed:
		class = class[strings.LastIndexByte(class, '.')+1:]
		class, _, _ = strings.Cut(class, "#")
		mergeRule(&sheet.classes, class, s)
	case name != "" && name != "*" && !identified:
		if s.on&displayNone == 0 {
			s.declared, s.on = s.declared&^displayBits, s.on&^displayBits
		}
		s.declared &^= preformatted
		mergeRule(&sheet.tags, lookupTag(name), s)
	default:
		sheet.catchAll = s.withUnknownColors().cascadeOver(sheet.catchAll)
	}
}

// markupComments removes the marks that hid style sheets from very old browsers. CSS ignores them.
var markupComments = strings.NewReplacer("<!--", "", "-->", "")

// mergeRule merges a style into the rules for key. New keys are ignored beyond maxClasses.
func mergeRule[K comparable](rules *map[K]style, key K, s style) {
	if *rules == nil {
		*rules = make(map[K]style)
	}
	if old, ok := (*rules)[key]; ok || len(*rules) < maxClasses {
		(*rules)[key] = s.cascadeOver(old)
	}
}

// of returns the style of an element. In ascending priority it comes from other attributes (hints),
// rules for the tag, rules for the classes, and the style attribute.
func (sheet *stylesheet) of(t *htmlToken, hints style) (s style) {
	if s = hints; sheet.catchAll.declared != 0 {
		s = sheet.catchAll.cascadeOver(s)
	}
	if len(sheet.tags) > 0 {
		s = sheet.tags[t.tag].cascadeOver(s)
	}
	if len(sheet.classes) > 0 && t.attr.class != "" {
		for name := range strings.FieldsSeq(unescapeAttribute(t.attr.class)) {
			s = sheet.classes[name].cascadeOver(s)
		}
	}
	if t.attr.style != "" {
		s = parseStyle(unescapeAttribute(t.attr.style)).cascadeOver(s)
	}
	return s
}

// blockEnd returns the position of the brace that closes a block. It skips nested blocks.
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
