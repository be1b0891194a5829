package smtp

import (
	"testing"

	"inboxd/internal/core/delivery"
	"inboxd/smtp/courier"
)

// Our own server is the strictest peer available.
func TestOwnServer(t *testing.T) {
	inboxes := &house{}
	_, addr := serve(t, Options{}, inboxes)
	c := courier.New(courier.Options{HelloName: "us.example", Smarthost: courier.Smarthost{Addr: addr}})
	defer c.Close()
	const text = "Subject: s\r\n\r\nHello\r\n.\r\n..dots\r\n"
	for _, rcpts := range [][]string{{"m@inbox.test", "nobody@inbox.test"}, {"ü@inbox.test"}} {
		job := courier.DeliveryRequest{Senders: []string{"me@us.example", ""}[:len(rcpts)], Rcpts: rcpts, Raw: []byte(text)}
		got := c.Deliver(t.Context(), job)
		if got[0].Outcome != delivery.OutcomeDelivered || len(got) > 1 && (got[1].Outcome != delivery.OutcomePermanent || got[1].Enhanced != "5.1.1") {
			t.Errorf("%+v", got)
		}
		if messages := inboxes.received(); len(messages) != 1 || messages[0].body() != text || messages[0].env.MailFrom != job.Senders[0] || messages[0].env.RcptTo[0] != rcpts[0] {
			t.Errorf("%+v", messages)
		}
	}
}
