package otp

import (
	"slices"
	"testing"
)

// TestForms checks which candidates a text has: how digits in groups, with points, and next to words of
// one letter are read, and what of a mixed code belongs to it.
func TestForms(t *testing.T) {
	for text, want := range map[string][]string{
		"Il codice è 4 8 2 9 1 3 e scade presto": {"482913"},
		"kod 4 8 2 9 1 3 i wpisz":                {"482913"},
		"code 4 8 2 9 1 3 A new device":          {"482913"},
		"es a 4 8 2 9 1 3":                       {"482913"},
		"code 1 u 8 k u f":                       {"1u8kuf"},
		"code 4 8 2 9 1 b":                       {"48291b"}, // no word behind it: the letter is part of the code
		"code Q4-8817":                           {"Q4-8817"},
		"code G-482913":                          {"482913"},
		"code 48 291":                            {"48291"},
		"code 4829 1377 5":                       {"482913775"},
		"code 1-382-913":                         {"1382913"},
		"code 48 29 13 7":                        {"4829137"},
		"code 482.913":                           {"482913"},
		"code 4.8.2.9.1.3":                       {"482913"},
		"code 4829 5 minutes":                    {"4829"},
		"price 12.99, host 10.0.0.1, 4.8.2.9":    nil,
		"call 415 555 0132":                      nil,
	} {
		var got []string
		for _, c := range ExplainCode(Input{Text: text}).Candidates {
			got = append(got, c.Code)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestPreview checks that a code that only the list of messages shows has a low confidence, and never
// wins over one that the opened message shows.
func TestPreview(t *testing.T) {
	res := FindCode(Input{Subject: "Sign in to Stork", PreviewText: "Your verification code is 771203", VisibleText: "Open the app to continue."})
	if res.Code != "771203" || res.Confidence > maxHiddenConfidence {
		t.Errorf("%+v", res)
	}
	res = FindCode(Input{Subject: "Sign in to Stork", PreviewText: "Your verification code is 771203", VisibleText: "Your code\n482913"})
	if res.Code != "482913" {
		t.Errorf("%+v", res)
	}
}
