package client

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestReply(t *testing.T) {
	box := func(emails ...string) (out []Mailbox) {
		for _, e := range emails {
			out = append(out, Mailbox{Email: e})
		}
		return out
	}
	from := Mailbox{Email: "from@far.test", Name: "From"}
	for name, c := range map[string]struct {
		m    Message
		want Letter
		err  error
	}{
		"to From":                      {Message{Direction: "in", From: from, Subject: "Hi", InternetMessageID: "1@far.test"}, Letter{To: "from@far.test", Subject: "Re: Hi", InReplyTo: "1@far.test"}, nil},
		"to Reply-To":                  {Message{Direction: "in", From: from, ReplyTo: box("list@far.test", "other@far.test"), Subject: "Hi"}, Letter{To: "list@far.test", Cc: []string{"other@far.test"}, Subject: "Re: Hi"}, nil},
		"an empty Reply-To":            {Message{Direction: "in", From: from, ReplyTo: box("")}, Letter{To: "from@far.test", Subject: "Re:"}, nil},
		"of a sent one to its To":      {Message{Direction: "out", From: from, To: box("to@far.test"), ReplyTo: box("me@b.test"), Subject: "RE: AW: Re[2]: Hi"}, Letter{To: "to@far.test", Subject: "Re: Hi"}, nil},
		"nobody":                       {Message{Direction: "in"}, Letter{}, ErrNobody},
		"encrypted":                    {Message{Direction: "in", From: from, Encrypted: true}, Letter{}, ErrSealed},
		"an id that can't be answered": {Message{Direction: "in", From: from, InternetMessageID: "<a b@c>", Subject: "回复：答复: Hi"}, Letter{To: "from@far.test", Subject: "Re: Hi"}, nil},
		"a word that is no prefix":     {Message{Direction: "in", From: from, Subject: "Remember: Hi\r\nBcc: x@y"}, Letter{To: "from@far.test", Subject: "Re: Remember: Hi  Bcc: x@y"}, nil},
		"a long subject":               {Message{Direction: "in", From: from, Subject: strings.Repeat("ü", 300)}, Letter{To: "from@far.test", Subject: "Re: " + strings.Repeat("ü", 196)}, nil},
	} {
		if got, err := Reply(&c.m); !reflect.DeepEqual(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestClaim(t *testing.T) {
	c, got := scripted(t, 200, nil, `{"ok":true,"claimed":true}`)
	if won, err := c.Claim(t.Context(), "a@b.test", 3); !won || err != nil || got.RequestURI != "/api/v1/inboxes/a@b.test/messages/3/read" || got.Form.Get("body") != `{"claim":true}` {
		t.Errorf("%v %v %s %v", won, err, got.RequestURI, got.Form)
	}
}

// TestStrangersAreTold: a response from another server is not presented as a sentence of the
// service.
func TestStrangersAreTold(t *testing.T) {
	for status, body := range map[int]string{200: "<html>hello</html>", 502: "<html>bad</html>"} {
		c, _ := scripted(t, status, nil, body)
		_, err := c.Do(t.Context(), Request{Method: "GET", Path: "/api/v1/inboxes"})
		var e *Error
		if !errors.As(err, &e) || !e.Foreign || !strings.Contains(e.Detail, "<html>") {
			t.Errorf("%d: %v", status, err)
		}
	}
}
