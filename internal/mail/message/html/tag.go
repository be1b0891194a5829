package html

import "strings"

// elementTag is the name of an HTML element: an index into knownTags, or a hash of an unknown name with
// the top bit set.
type elementTag uint16

// elementTraits is a set of properties of an element.
type elementTraits uint16

const (
	block        elementTraits = 1 << iota // begins and ends on a line of its own
	paragraph                              // ... with an empty line around it
	void                                   // has no content and no end tag
	rawText                                // its content is text, even if it looks like tags
	neverVisible                           // never visible
	scope                                  // end tags inside do not close elements outside
	tablePart                              // its end tag closes elements outside of the cell, up to the table
)

// The tags that the code handles by name. The other known tags follow them in knownTags.
const (
	tagA elementTag = 1 + iota
	tagArea
	tagBlockquote
	tagBody
	tagBR
	tagButton
	tagFont
	tagImg
	tagInput
	tagLI
	tagMark
	tagOL
	tagP
	tagPre
	tagSelect
	tagStyle
	tagTable
	tagTBody
	tagTD
	tagTextarea
	tagTFoot
	tagTH
	tagTHead
	tagTR
	tagUL
	tagDL
	tagDT
	tagDD
)

// knownTags has every element that is not an ordinary inline element. The index is the tag.
var knownTags = [...]struct {
	name   string
	traits elementTraits
}{
	tagA: {"a", 0}, tagArea: {"area", void}, tagBlockquote: {"blockquote", block | paragraph}, tagBody: {"body", block}, tagBR: {"br", void}, tagButton: {"button", 0}, tagFont: {"font", 0}, tagMark: {"mark", 0},
	tagImg: {"img", void}, tagInput: {"input", void}, tagLI: {"li", block}, tagOL: {"ol", block | paragraph},
	tagP: {"p", block | paragraph}, tagPre: {"pre", block | paragraph}, tagSelect: {"select", block}, tagStyle: {"style", rawText | neverVisible}, tagTextarea: {"textarea", rawText | block},
	tagTable: {"table", block | scope | tablePart}, tagTBody: {"tbody", block | tablePart}, tagTD: {"td", block | scope | tablePart}, tagTFoot: {"tfoot", block | tablePart},
	tagTH: {"th", block | scope | tablePart}, tagTHead: {"thead", block | tablePart}, tagTR: {"tr", block | tablePart}, tagUL: {"ul", block | paragraph},
	tagDL: {"dl", block | paragraph}, tagDT: {"dt", block}, tagDD: {"dd", block},

	{"h1", block | paragraph}, {"h2", block | paragraph}, {"h3", block | paragraph},
	{"h4", block | paragraph}, {"h5", block | paragraph}, {"h6", block | paragraph},
	{"address", block}, {"article", block}, {"aside", block}, {"caption", block | scope}, {"center", block},
	{"details", block}, {"dialog", block}, {"dir", block}, {"div", block}, {"fieldset", block}, {"figcaption", block},
	{"figure", block}, {"footer", block}, {"form", block}, {"header", block}, {"hgroup", block}, {"hr", block | void},
	{"html", block | scope}, {"legend", block}, {"main", block}, {"menu", block}, {"nav", block},
	{"optgroup", block}, {"option", block}, {"section", block}, {"summary", block},
	{"base", void}, {"col", void}, {"embed", void}, {"link", void}, {"meta", void}, {"param", void}, {"source", void},
	{"track", void}, {"wbr", void},
	{"script", rawText | neverVisible}, {"title", rawText | neverVisible}, {"iframe", rawText | neverVisible}, {"noembed", rawText | neverVisible},
	{"noframes", rawText | neverVisible}, {"xmp", rawText | block},
	{"template", neverVisible}, {"datalist", neverVisible},
}

// tagNumbers is a hash table from names to tags, with linear probing.
var tagNumbers = func() (table [1 << tagBits]elementTag) {
	for i, t := range knownTags[1:] {
		place := hashName(t.name) >> (32 - tagBits)
		for table[place] != 0 {
			place = (place + 1) % (1 << tagBits)
		}
		table[place] = elementTag(i + 1)
	}
	return table
}()

// tagBits is the number of bits of an index into tagNumbers.
const tagBits = 8

// hashName returns the FNV-1a hash of a name; case does not matter.
func hashName(name string) uint32 {
	hash := uint32(2166136261)
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		hash = (hash ^ uint32(c)) * 16777619
	}
	return hash
}

// lookupTag returns the tag of a name; case does not matter. Unknown names get a hash, which is
// enough to match start tags with end tags.
func lookupTag(name string) elementTag {
	hash := hashName(name)
	for place := hash >> (32 - tagBits); tagNumbers[place] != 0; place = (place + 1) % (1 << tagBits) {
		if t := tagNumbers[place]; strings.EqualFold(knownTags[t].name, name) {
			return t
		}
	}
	return 0x8000 | elementTag(hash>>16)
}

func (t elementTag) hasTrait(x elementTraits) bool {
	return int(t) < len(knownTags) && knownTags[t].traits&x != 0
}

func (t elementTag) elementName() string {
	if int(t) < len(knownTags) {
		return knownTags[t].name
	}
	return ""
}
