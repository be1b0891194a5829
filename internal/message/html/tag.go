package html

// tag is an HTML element's name: a number of knownTags, or a hash with the top bit set.
type tag uint16

// traits of an element.
type traits uint16

const (
	block     traits = 1 << iota // begins and ends on a line of its own
	paragraph                    // ... with an empty line around it
	void                         // has no content and no end tag
	rawText                      // its content is text, whatever it looks like
	unseen                       // never shown
	scope                        // end tags inside don't reach beyond it
	tablePart                    // its end tag reaches out of cells, up to the table
)

// The tags with rules of their own; the other known ones follow them in knownTags.
const (
	tagA tag = 1 + iota
	tagArea
	tagBlockquote
	tagBR
	tagImg
	tagInput
	tagLI
	tagOL
	tagP
	tagPre
	tagStyle
	tagTable
	tagTBody
	tagTD
	tagTFoot
	tagTH
	tagTHead
	tagTR
	tagUL
	tagDL
	tagDT
	tagDD
)

// knownTags has every element that is not simply inline. Positions are tag numbers.
var knownTags = [...]struct {
	name   string
	traits traits
}{
	tagA: {"a", 0}, tagArea: {"area", void}, tagBlockquote: {"blockquote", block | paragraph}, tagBR: {"br", void},
	tagImg: {"img", void}, tagInput: {"input", void}, tagLI: {"li", block}, tagOL: {"ol", block | paragraph},
	tagP: {"p", block | paragraph}, tagPre: {"pre", block | paragraph}, tagStyle: {"style", rawText | unseen},
	tagTable: {"table", block | scope | tablePart}, tagTBody: {"tbody", block | tablePart}, tagTD: {"td", block | scope | tablePart}, tagTFoot: {"tfoot", block | tablePart},
	tagTH: {"th", block | scope | tablePart}, tagTHead: {"thead", block | tablePart}, tagTR: {"tr", block | tablePart}, tagUL: {"ul", block | paragraph},
	tagDL: {"dl", block | paragraph}, tagDT: {"dt", block}, tagDD: {"dd", block},

	{"h1", block | paragraph}, {"h2", block | paragraph}, {"h3", block | paragraph},
	{"h4", block | paragraph}, {"h5", block | paragraph}, {"h6", block | paragraph},
	{"address", block}, {"article", block}, {"aside", block}, {"caption", block | scope}, {"center", block},
	{"details", block}, {"dialog", block}, {"dir", block}, {"div", block}, {"fieldset", block}, {"figcaption", block},
	{"figure", block}, {"footer", block}, {"form", block}, {"header", block}, {"hgroup", block}, {"hr", block | void},
	{"html", block | scope}, {"body", block}, {"legend", block}, {"main", block}, {"menu", block}, {"nav", block},
	{"optgroup", block}, {"option", block}, {"section", block}, {"select", block}, {"summary", block},
	{"base", void}, {"col", void}, {"embed", void}, {"link", void}, {"meta", void}, {"param", void}, {"source", void},
	{"track", void}, {"wbr", void},
	{"script", rawText | unseen}, {"title", rawText | unseen}, {"iframe", rawText | unseen}, {"noembed", rawText | unseen},
	{"noframes", rawText | unseen}, {"xmp", rawText | block}, {"textarea", rawText | block},
	{"template", unseen}, {"datalist", unseen},
}

var tagNumbers = func() map[string]tag {
	m := make(map[string]tag, len(knownTags))
	for i, t := range knownTags[1:] {
		m[t.name] = tag(i + 1)
	}
	return m
}()

// lookupTag finds a name in any case. Unknown names only need to be told apart, to pair
// start and end tags; a hash is enough.
func lookupTag(name string) tag {
	var lower [16]byte
	hash := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if i < len(lower) {
			lower[i] = c
		}
		hash = (hash ^ uint32(c)) * 16777619
	}
	if len(name) <= len(lower) {
		if t, ok := tagNumbers[string(lower[:len(name)])]; ok {
			return t
		}
	}
	return 0x8000 | tag(hash>>16)
}

func (t tag) has(x traits) bool { return int(t) < len(knownTags) && knownTags[t].traits&x != 0 }

func (t tag) name() string {
	if int(t) < len(knownTags) {
		return knownTags[t].name
	}
	return ""
}
