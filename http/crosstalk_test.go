package http

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// TestNoAnswerReachesAnotherClient runs 64 clients of 64 accounts over few connections. Each has a
// secret word in its messages and labels, and no response may contain the word of another account.
// Request and response buffers are reused all the time.
func TestNoAnswerReachesAnotherClient(t *testing.T) {
	const clients, requests = 64, 60
	w := start(t)
	w.unbound = true
	var callers sync.WaitGroup
	type client struct{ word, key, inboxKey, session, address string }
	all := make([]client, clients)
	for n := range all {
		c := &all[n]
		c.word = fmt.Sprintf("word%04dx", n*7919%10000)
		email := c.word + "@example.com"
		c.session = w.signUp(email)
		c.address = w.newInbox(email, c.word)
		c.key, c.inboxKey = w.key(email, account.ScopeFull), w.keyFor(email, c.address, account.ScopeRead)
		w.deliver(c.address, inbox.Receive{Subject: c.word, Content: &inbox.Content{
			Doc: message.ParsedMessage{Text: strings.Repeat(c.word+" ", 1+n*10)}, OTP: inbox.OTP{Code: c.word},
		}})
		w.deliver(c.address, mailOf(mailOfFiles(wordsOf(c.word, n)), inbox.OTP{Code: c.word}))
	}
	for n := range all {
		callers.Go(func() {
			me, random := &all[n], rand.New(rand.NewPCG(uint64(n), 1))
			one := "/api/v1/inboxes/" + me.address
			for range requests {
				other := &all[random.IntN(clients)]
				var r reply
				var err error
				switch random.IntN(9) {
				case 0:
					r, err = w.try(methodGet, one+"/latest", me.key, "")
				case 1:
					r, err = w.try(methodGet, one+"/messages?q="+me.word, me.inboxKey, "")
				case 2:
					r, err = w.try(methodGet, "/api/v1/inboxes", me.key, "")
				case 3:
					r, err = w.try(methodGet, "/api/account", me.session, "")
				case 4:
					r, err = w.try(methodGet, "/api/inboxes/"+me.address+"/emails/1", me.inboxKey, "")
				case 5:
					r, err = w.try(methodPost, "/api/keys", me.session, fmt.Sprintf(`{"label":%q}`, me.word))
				case 6:
					r, err = w.try(methodPatch, one, me.key, fmt.Sprintf(`{"nonsense-%s":1}`, me.word))
				case 7:
					r, err = w.try(methodGet, fmt.Sprintf("%s/messages/2/attachments/%d", one, 1+random.IntN(3)), me.key, "")
					if err == nil && strings.TrimSpace(r.body) != wordsOf(me.word, n) {
						t.Errorf("a file of %s has %d bytes, want %d", me.word, len(r.body), len(wordsOf(me.word, n)))
					}
				default: // another account's inbox: refused, and only its address is quoted
					r, err = w.try(methodGet, "/api/v1/inboxes/"+other.address+"/latest", me.key, "")
					if other != me && r.status != 403 {
						t.Errorf("%s reads %s: %d", me.word, other.word, r.status)
					}
					r.body = strings.ReplaceAll(r.body, other.address, "")
				}
				if err != nil {
					t.Error(err)
					return
				}
				for i := range all {
					if i != n && strings.Contains(r.body+fmt.Sprint(r.header), all[i].word) {
						t.Errorf("%s was told of %s: %s", me.word, all[i].word, r.body)
					}
				}
			}
		})
	}
	callers.Wait()
}

func wordsOf(word string, n int) string {
	return strings.TrimSpace(strings.Repeat(word+"\r\n", 1+n*50))
}

// mailOfFiles returns a message with the same text as a file in each encoding: one can be read in
// place, and two must be decoded.
func mailOfFiles(text string) string {
	mail := "From: a@b.test\r\nSubject: files\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
	for encoding, body := range map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(text)), "quoted-printable": text, "7bit": text} {
		mail += "--b\r\nContent-Disposition: attachment; filename=a.txt\r\nContent-Transfer-Encoding: " + encoding + "\r\n\r\n" + body + "\r\n"
	}
	return mail + "--b--\r\n"
}
