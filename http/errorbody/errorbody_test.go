package errorbody

import (
	"testing"

	"inboxd/internal/base/fault"
)

// TestBodies: a fault's own code wins over that of its kind, and a status without a code is a defect
// of the service.
func TestBodies(t *testing.T) {
	for _, c := range []struct {
		body []byte
		want string
	}{
		{Of(fault.New(fault.Refused, "No \"x\"")), `{"detail":"No \"x\"","code":"refused"}`},
		{Of(fault.Refuse(fault.CodeInUse, "It is in use")), `{"detail":"It is in use","code":"in_use"}`},
		{Of(fault.RefuseField("prefix", fault.CodeAddressTaken, "It is taken")), `{"detail":"It is taken","code":"address_taken","field":"prefix"}`},
		{Of(fault.InvalidField("to", "is %s", "\xff")), `{"detail":"Invalid request: 'to' is ` + "\ufffd" + `","code":"validation","field":"to"}`},
		{OfStatus(405, "No"), `{"detail":"No","code":"method_not_allowed"}`},
		{OfStatus(500, "Oops"), `{"detail":"Oops","code":"internal"}`},
	} {
		if string(c.body) != c.want {
			t.Errorf("%s, want %s", c.body, c.want)
		}
	}
}

// TestEveryKindHasAResponse checks that each kind of fault has a status and a code.
func TestEveryKindHasAResponse(t *testing.T) {
	for kind := fault.Internal; kind <= fault.UnsupportedContent; kind++ {
		if r := responses[kind]; r.status < 400 || r.code == "" {
			t.Errorf("%v has %+v", kind, r)
		}
	}
}
