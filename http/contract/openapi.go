// Package contract is what clients are promised: the OpenAPI document, and the page that shows
// it. It knows the document alone; it refuses to know routes and requests. Tests of package
// http hold the two to each other (ADR 0018).
package contract

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/zeebo/xxh3"
)

// openAPI is the OpenAPI 3.1 document, written by hand as the mirror of the route table.
//
//go:embed contract.json
var openAPI []byte

// Document never changes while the server runs.
type Document struct {
	Type, ETag string
	Body       []byte
}

// NewDocument tags a body of that content type.
func NewDocument(kind string, body []byte) *Document {
	return &Document{kind, fmt.Sprintf(`"%x"`, xxh3.Hash128(body).Bytes()), body}
}

// OpenAPI returns the contract for programs.
func OpenAPI() *Document { return NewDocument("application/json", bytes.TrimSpace(openAPI)) }
