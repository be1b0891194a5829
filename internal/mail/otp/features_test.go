package otp

import (
	"slices"
	"strings"
	"testing"
)

// TestFeatures has a message for each feature, in which it has the wanted value for the candidate
// 482913, K7Q2MX or 140526.
func TestFeatures(t *testing.T) {
	said := map[string]bool{}
	for _, c := range []struct{ want, subject, text string }{
		{"bias=yes", "", "code 482913"},
		{"form=digits,6", "", "code 482913"},
		{"form=mixed,6", "", "code K7Q2MX"},
		{"look=jumble", "", "code K7Q2MX"},
		{"own=yes", "", "code\n482913"},
		{"split=yes", "", "code 482 913"},
		{"split=uneven", "", "code 4829 13"},
		{"split=points", "", "code 482.913"},
		{"date=yes", "", "code 14-05-26"},
		{"linked=part", "", "https://stork.example/482913 code 482913"},
		{"linked=value", "", "https://stork.example/verify?c=482913 code 482913"},
		{"m-length=3", "", "code 482913"},
		{"m-crowd=2", "", "code 482913, code 771204"},
		{"compared=yes", "", "code == 482913"},
		{"compared=yes", "", "const code = 482913;"},
		{"thing=yes", "", "Locker 14, code 482913"},
		{"left1=colon", "", "code: 482913"},
		{"left2=code-weak", "", "code: 482913"},
		{"right1=is", "", "482913 is your code"},
		{"before=strong,0,joined", "", "Verification code: 482913"},
		{"before-joined=yes", "", "Verification code: 482913"},
		{"before-joined=yes", "", "Verification code for mara@example.net: 482913"}, // the colon does not belong to the address
		{"before-class=otp", "", "Verification code: 482913"},
		{"after=weak,1-2,joined", "", "482913 is code"},
		{"above=strong,1,joined,heading,own", "", "Verification code:\n482913"},
		{"said=weak", "", "482913 eingeben, der Code"},
		{"said=strong", "", "Your verification code is 482913"},
		{"said=weak-above", "", "Your code\n482913"},
		{"said=strong-above", "", "Verification code\n482913"},
		{"said=below", "", "482913\nis the code"},
		{"said=asked", "", "Enter this, it proves who you are, on our page\n482913"},
		{"said=entered", "", "Please enter 482913"},
		{"said=far", "", "Your code is on its way, and this is the order. 482913"},
		{"column=yes", "", "Device\nCode\nValid until\nPhone\n482913\n14:05"},
		{"column=yes", "", "| Device | Code | Valid until |\n|---|---|---|\n| Phone | 482913 | 14:05 |"},
		{"column=yes", "", "Name         Code      Valid until\nMy phone     482913    14:05"},
		{"quoted=alone", "", `Type "482913", the code`},
		{"quoted=speech", "", `He wrote “the code is 482913”`},
		{"alike=1", "", "code 482913, code 771204"},
		{"again=mail", "", "code 482913\nAgain: 482913"},
		{"again=subject", "482913 is your code", "code 482913"},
		{"company=1-2", "", "Here is the code you asked for. It is 482913."},
		{"kind=digits6", "", "code 482913"},
		{"kind=mixed", "", "code K7Q2MX"},
		{"row=1", "", "Your code is 482913"},
		{"row=1", "", ">>> 482913 <<<"}, // not a quotation
		{"left=other", "", "Your order: 482913"},
		{"right=code-strong", "", "482913 is your verification code"},
		{"up=other", "", "code\nOrder number\n482913"},
		{"up2=code-weak", "", "code\nOrder number\n482913"},
		{"down=is", "", "482913\nis your verification code"},
		{"mail=number", "", "code 482913"},
		{"subject=verify", "Your login", "code 482913"},
		{"topic=signin", "Sign in to Larch", "code 482913"},
		{"asks=order", "", "Your order\n482913 is the code"},
		{"m-strength=3", "", "Verification code: 482913"},
		{"m-subject=1", "Your code", "482913"},
		{"m-expiry=yes", "", "code 482913, valid for 5 minutes"},
		{"m-goods=1", "", "order 771204, code 482913"},
		{"m-parcel=1", "", "Your parcel, code 482913"},
		{"m-promo=1", "", "A discount, code 482913"},
		{"m-papers=1", "", "Your certificate, code 482913"},
		{"m-money=1", "", "$5, code 482913"},
	} {
		var names []string
		all, _ := explained(Input{Subject: c.subject, Text: c.text, Links: strings.Fields(c.text)[:1]})
		for _, e := range all {
			if e.code == "482913" || e.code == "K7Q2MX" || e.code == "140526" {
				names = e.names // of the last candidate, since the text comes behind the subject
			}
		}
		said[strings.Split(c.want, "=")[0]] = true
		if !slices.Contains(names, c.want) {
			t.Errorf("%q, %q: no %s in %q", c.subject, c.text, c.want, names)
		}
	}
	for _, f := range baseFeatures {
		if !strings.HasSuffix(f.HelpText, ".") || len(f.Values) < 2 {
			t.Errorf("%s: %q, values %q", f.Name, f.HelpText, f.Values)
		}
	}
}

// TestNoCandidates checks that some numbers are never candidates: the keys of issue trackers, and
// the visible end of masked numbers.
func TestNoCandidates(t *testing.T) {
	for written, want := range map[string]int{"****482913": 0, "(•••) •••-4829": 0, "code ........ 4829": 1, "SEC-4829": 0, "DAY-482913": 0, "OTP-4829": 1, "PIN-482913": 1} {
		if all, _ := explained(Input{Text: written + ": the login code"}); len(all) != want {
			t.Errorf("%s: %v", written, all)
		}
	}
}

// known is a candidate with the names of its feature values.
type known struct {
	code  string
	names []string
}

// explained returns the candidates of a message with all their feature values, and the names of all
// places of the model.
func explained(in Input) (all []known, names []string) {
	names = codeModel.PlaceNames()
	s := new(searchState)
	s.readPages(in, false)
	s.eachCandidate(func(v *candidateView) {
		k := known{code: v.c.codeString()}
		for _, p := range codeModel.ActivePlaces(v, nil) {
			k.names = append(k.names, names[p])
		}
		all = append(all, k)
	})
	return all, names
}
