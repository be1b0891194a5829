// Package tools describes the nineteen tools of the service in one place: name, description,
// parameters, results, and the key that each needs. It renders them as JSON Schema for the tool
// server, and as the function formats of three model vendors. It contains only descriptions. It
// does not know protocols, clients, HTTP, or how a tool works.
//
// Names, parameters, defaults and required lists are part of the contract (specification, Tool
// server); limits are those that the API enforces.
package tools

import "encoding/json"

// Tool is one tool.
type Tool struct {
	Name        string
	Title       string // for people
	Description string // for models
	Params      []Param
	IsCore      bool // also offered as a function
	Hints       Hints
	Scopes      []string // permissions that a key needs, all of them
	AccountKey  bool     // the key of one inbox is not enough
	Result      Schema   // always of an object
}

// Hints inform a client what a call may do, before it is made. Each hint is true of every call of
// the tool, not only of most.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may delete something
	Idempotent  bool // a second call with the same arguments changes nothing more
	OpenWorld   bool // something is sent outside the service
}

// The combinations of hints that tools have.
var (
	readHints    = Hints{ReadOnly: true, Idempotent: true}
	addHints     = Hints{}
	handoutHints = Hints{} // returns messages and marks them as read: never the same twice
	markHints    = Hints{Idempotent: true}
	deleteHints  = Hints{Destructive: true, Idempotent: true}
	sendHints    = Hints{OpenWorld: true}
)

// Permissions of a key (specification, Permissions).
var (
	mayRead   = []string{"inbox:read"}
	maySend   = []string{"email:send"}
	mayAnswer = []string{"inbox:read", "email:send"} // the message that is answered is read first
	mayDelete = []string{"message:write"}
	mayManage = []string{"inbox:manage"}
)

var allTools = append(append([]Tool{}, mailTools...), calendarTools...)

// All returns the tools in the promised order. The caller must not change their contents.
func All() []Tool { return append([]Tool(nil), allTools...) }

// Find returns the tool with the given name.
func Find(name string) (Tool, bool) {
	for _, t := range allTools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// ArgumentSchema is the schema of the tool's arguments.
func (t Tool) ArgumentSchema() Schema {
	return Schema{Type: []string{"object"}, Properties: t.Params}
}

// InputSchema is ArgumentSchema as JSON; the same tool gives the same bytes.
func (t Tool) InputSchema() json.RawMessage { return renderJSON(t.ArgumentSchema()) }

// OutputSchema is the schema of the structured result as JSON.
func (t Tool) OutputSchema() json.RawMessage { return renderJSON(t.Result) }

// renderJSON cannot fail, because schemas contain only values from this package.
func renderJSON(v any) json.RawMessage {
	b, err := compactJSON(v)
	if err != nil {
		panic("tools: a schema that is no JSON: " + err.Error())
	}
	return b
}
