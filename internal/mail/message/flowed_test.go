package message

import "testing"

func TestFlowedText(t *testing.T) {
	for _, c := range []struct{ params, text, want string }{
		{"", "a \nb\n", "a \nb\n"},
		{"; format=flowed", "This is \none paragraph.\n\nAnd \nanother.\n", "This is one paragraph.\n\nAnd another.\n"},
		{"; Format=Flowed; DelSp=Yes", "Code 482 \n913, https://a.test/ver \nify?x=1\n", "Code 482913, https://a.test/verify?x=1\n"},
		{"; format=flowed", "> quoted \n> text \n>> deeper \n>> still\nmine\n", "> quoted text \n>> deeper still\nmine\n"},
		{"; format=flowed", ">no blank \n>here\n", ">no blank here\n"},
		{"; format=flowed", "text \n-- \nname\n", "text \n-- \nname\n"}, // a signature ends the paragraph
		{"; format=flowed", " From here \n on\n  two\n", "From here on\n two\n"},
		{"; format=flowed", " \n\nx\n", "\n\nx\n"},
		{"; format=flowed", "open ", "open "},
		{"; format=flowed; delsp=yes", "open \n", "open\n"},
		{"; format=fixed", "a \nb\n", "a \nb\n"},
	} {
		if doc := Parse([]byte("Content-Type: text/plain" + c.params + "\n\n" + c.text)); doc.Text != c.want || doc.IsDegraded {
			t.Errorf("%q %s: %q, want %q", c.text, c.params, doc.Text, c.want)
		}
	}
	doc := Parse([]byte("Content-Type: text/plain; format=flowed; delsp=yes\n\nhttps://a.test/confirm/ \nlong?token=1\n"))
	if len(doc.Links) != 1 || doc.Links[0] != "https://a.test/confirm/long?token=1" {
		t.Errorf("links %q", doc.Links)
	}
}
