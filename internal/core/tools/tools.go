// Package tools describes the nineteen tools of the service, once: what each is called, what it
// does, what it takes and answers, and which key it needs. It is rendered as JSON Schema for the
// tool server, and as the function formats of three model makers. It knows words alone: no
// protocol, no client, no HTTP, and nothing of how a tool does its work.
//
// Names, parameters, defaults and what is required are promised (specification, Tool server); limits
// are those that the API enforces.
package tools

import "encoding/json"

// Tool is one tool.
type Tool struct {
	Name        string
	Title       string // for people
	Description string // for models
	Params      []Param
	Core        bool // offered as a function, too
	Hints       Hints
	Scopes      []string // permissions that a key needs, all of them
	AccountKey  bool     // the key of one inbox never does
	Result      Schema   // always of an object
}

// Hints tell a client what a call may do, before it is made. All of them are true of every call
// of the tool, not only of most.
type Hints struct {
	ReadOnly    bool // nothing changes
	Destructive bool // something is lost
	Idempotent  bool // a second call with the same arguments changes nothing more
	OpenWorld   bool // something leaves the service
}

// The kinds of hints that tools have.
var (
	reads = Hints{ReadOnly: true, Idempotent: true}
	adds  = Hints{}
	hands = Hints{} // hands out mail and marks it as read: never the same twice
	marks = Hints{Idempotent: true}
	wipes = Hints{Destructive: true, Idempotent: true}
	mails = Hints{OpenWorld: true}
)

// Permissions of a key (specification, Permissions).
var (
	mayRead   = []string{"inbox:read"}
	maySend   = []string{"email:send"}
	mayAnswer = []string{"inbox:read", "email:send"} // the mail that is answered is read first
	mayDelete = []string{"message:write"}
	mayManage = []string{"inbox:manage"}
)

var all = append(append([]Tool{}, mailTools...), calendarTools...)

// All returns the tools in the order that they are promised in. The caller must not change what they hold.
func All() []Tool { return append([]Tool(nil), all...) }

// Find returns the tool of that name.
func Find(name string) (Tool, bool) {
	for _, t := range all {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Input is the schema of the tool's arguments.
func (t Tool) Input() Schema {
	return Schema{Type: []string{"object"}, Properties: t.Params}
}

// InputSchema is Input as JSON; the same tool gives the same bytes.
func (t Tool) InputSchema() json.RawMessage { return render(t.Input()) }

// OutputSchema is the schema of the structured result as JSON.
func (t Tool) OutputSchema() json.RawMessage { return render(t.Result) }

// render cannot fail: schemas hold nothing but what this package put in.
func render(v any) json.RawMessage {
	b, err := compact(v)
	if err != nil {
		panic("tools: a schema that is no JSON: " + err.Error())
	}
	return b
}
