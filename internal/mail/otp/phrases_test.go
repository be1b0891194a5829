package otp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// writings are ways to write a code, all of which must be found.
var writings = map[string]func(code string) string{
	"plain":      func(c string) string { return c },
	"halves":     func(c string) string { return c[:3] + " " + c[3:] },
	"hyphen":     func(c string) string { return c[:3] + "-" + c[3:] },
	"zero width": func(c string) string { return strings.Join(strings.Split(c, ""), "\u200b") },
	"stars":      func(c string) string { return "**" + c + "**" },
	"full width": func(c string) string { return digitsFrom(c, '０') },
	"arabic":     func(c string) string { return digitsFrom(c, '٠') },
	"persian":    func(c string) string { return digitsFrom(c, '۰') },
	"devanagari": func(c string) string { return digitsFrom(c, '०') },
	"thai":       func(c string) string { return digitsFrom(c, '๐') },
}

// digitsFrom writes a code with the digits of another script, which begin at zero.
func digitsFrom(code string, zero rune) string {
	return strings.Map(func(r rune) rune { return zero + r - '0' }, code)
}

// layouts are ways to lay out a code in HTML, all of which must be found.
var layouts = map[string]func(code string) string{
	"heading": func(c string) string { return "<h1>" + c + "</h1>" },
	"cells": func(c string) string {
		return "<table><tr><td>" + strings.Join(strings.Split(c, ""), "</td><td>") + "</td></tr></table>"
	},
	"spans": func(c string) string {
		return "<p><span>" + strings.Join(strings.Split(c, ""), "</span><span>") + "</span></p>"
	},
	"styled":   func(c string) string { return "<div class=c-551203 style='color:#118833'>" + c + "</div>" },
	"halves":   func(c string) string { return "<p><b>" + c[:3] + "</b>&nbsp;<b>" + c[3:] + "</b></p>" },
	"decoys":   func(c string) string { return "<p style='display:none'>771203</p><p>" + c + "</p><!-- 998877 -->" },
	"image":    func(c string) string { return "<img src=https://i.example/882201.png alt=" + c + ">" },
	"disabled": func(c string) string { return "<input readonly value=" + c + ">" },
}

// messages calls use with the messages made from the phrase, and with the code of each.
func (p phrase) messages(i int, use func(name, want string, in Input)) {
	code := fmt.Sprintf("%06d", (i*77_773+104_729)%1_000_000)
	page := func(name, want, body string) {
		v := ViewOf("<style>.x{color:#123456}</style>" + body)
		use("HTML "+name, want, Input{Subject: p.subject, VisibleText: v.VisibleText, PreviewText: v.PreviewText, AltTexts: v.AltTexts})
	}
	use("no code", "", Input{Subject: "Stork", Text: p.without})
	page("no code", "", "<p>"+p.without+"</p>")
	if strings.Contains(p.lead, "{c}") {
		use("inside", code, Input{Subject: p.subject, Text: strings.ReplaceAll(p.lead, "{c}", code)})
		page("inside", code, "<p>"+strings.ReplaceAll(p.lead, "{c}", "<b>"+code+"</b>")+"</p>")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(writings)) {
		use(name, code, Input{Subject: p.subject, Text: p.lead + "\n\n" + writings[name](code) + "\n\n" + p.below})
	}
	for _, name := range slices.Sorted(maps.Keys(layouts)) {
		page(name, code, "<p>"+p.lead+"</p>"+layouts[name](code)+"<p>"+p.below+"</p>")
	}
}

// TestPhrases checks for every language that a code is found in all writings and layouts, and that
// a message without a code has no result.
func TestPhrases(t *testing.T) {
	all := readPhrases(t)
	if len(all) < 90 {
		t.Fatalf("only %d phrases", len(all))
	}
	var none misses
	for i, p := range all {
		p.messages(i, func(name, want string, in Input) { none.count(t, p.lang+", "+name, in, want) })
	}
	none.judge(t)
}
