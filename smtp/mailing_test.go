package smtp

import "testing"

// TestCutPath holds what counts as the form of a path: how good the address is, others say.
func TestCutPath(t *testing.T) {
	for _, c := range []struct {
		arg, path, params string
		ok                bool
	}{
		{"FROM:<a@b.test>", "a@b.test", "", true},
		{"from: <a@b.test> SIZE=1", "a@b.test", " SIZE=1", true},
		{"FROM:<a@b.test>SIZE=1", "a@b.test", "SIZE=1", true},
		{"FROM:a@b.test SIZE=1", "a@b.test", " SIZE=1", true},
		{"FROM:a@b.test>", "a@b.test", ">", true},
		{"FROM:<>", "", "", true},
		{"FROM:<> BODY=7BIT", "", " BODY=7BIT", true},
		{"FROM:<@x,@y:a@b.test>", "a@b.test", "", true},
		{`FROM:<"a b"@c.test>`, `"a b"@c.test`, "", true},
		{`FROM:<"a\"@>b"@c.test>`, `"a\"@>b"@c.test`, "", true},
		{"FROM:<a@b@c.test>", "a@b@c.test", "", true},
		{"FROM:<a@[1.2.3.4]>", "a@[1.2.3.4]", "", true},
		{arg: "FROM"}, {arg: "FROM:"}, {arg: "TO:<a@b.test>"}, {arg: "FROM:<a@b.test"}, {arg: "FROM:<a@b.test SIZE=1"},
		{arg: "FROM:<a>"}, {arg: "FROM:<a@>"}, {arg: "FROM:<@b.test>"}, {arg: "FROM:< a@b.test>"}, {arg: "FROM:<a @b.test>"},
		{arg: `FROM:<""@c.test>`}, {arg: `FROM:<"a@c.test>`}, {arg: `FROM:<"a\`}, {arg: `FROM:<"a"b@c.test>`}, {arg: "FROM:<a(b)@c.test>"},
	} {
		path, params, ok := cutPath(c.arg, "FROM:")
		if ok != c.ok || ok && (path != c.path || params != c.params) {
			t.Errorf("%q: %q, %q, %v", c.arg, path, params, ok)
		}
	}
	if _, _, ok := cutPath("TO:<>", "TO:"); ok {
		t.Error("nobody is a recipient")
	}
}

func TestMailParams(t *testing.T) {
	for params, want := range map[string]struct {
		mailParams
		reply *reply
	}{
		"":                         {},
		" SIZE=12 body=8bitmime":   {mailParams{size: 12}, nil},
		" SMTPUTF8 AUTH=<>":        {mailParams{utf8: true}, nil},
		" AUTH=a+2Bb@c.test":       {},
		" BODY=7BIT":               {},
		" SIZE=":                   {reply: replySize},
		" SIZE=-1":                 {reply: replySize},
		" BODY=9BIT":               {reply: replyBody},
		" AUTH=":                   {reply: replyAuth},
		" AUTH=a+4":                {reply: replyAuth},
		" AUTH=a+2b@c.test":        {reply: replyAuth},
		" AUTH=+FF@c.test":         {reply: replyAuth},
		" AUTH=anna":               {reply: replyAuthMailbox},
		" AUTH=anna@":              {reply: replyAuthMailbox},
		" AUTH=anna@c.test+20more": {reply: replyAuthMailbox},
		" FOO":                     {reply: replyMailParam},
		" SIZE=1=2":                {reply: replyMailParams},
	} {
		got, r := readMailParams(params)
		if r != want.reply || r == nil && got != want.mailParams {
			t.Errorf("%q: %+v, %v", params, got, r)
		}
	}
	for params, want := range map[string]string{
		" RET=FULL": "RET is not implemented", " BODY=BINARYMIME": "BINARYMIME is not implemented", " REQUIRETLS": "REQUIRETLS is not implemented",
	} {
		if _, r := readMailParams(params); r == nil || r.Code != 504 || r.Message != want {
			t.Errorf("%q: %v", params, r)
		}
	}
	for params, want := range map[string]int{"": 0, " NOTIFY=NEVER": 504, " BY=1": 504, " FOO=1": 500, " A=B=C": 501} {
		if r := readRcptParams(params); r == nil && want != 0 || r != nil && r.Code != want {
			t.Errorf("RCPT %q: %v", params, r)
		}
	}
}
