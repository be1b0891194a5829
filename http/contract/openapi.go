// Package contract is the public contract: the OpenAPI document, the page that shows it, both as
// Markdown, and the packages of the clients that call it. It knows only the document, not routes or
// requests. Tests of package http compare the document with the routes (ADR 0018).
package contract

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/zeebo/xxh3"
)

// openAPI is the OpenAPI 3.1 document, written by hand to match the route table.
//
//go:embed contract.json
var openAPI []byte

// CachedDocument is a document to serve. It is immutable.
type CachedDocument struct {
	ContentType, ETag string
	BodyBytes         []byte
	Policy            string // Content-Security-Policy (CSP level 3)
}

// strictPolicy is for documents without styles and scripts.
const strictPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// NewDocument returns a document with an ETag for a body of that content type.
func NewDocument(kind string, body []byte) *CachedDocument {
	return &CachedDocument{kind, fmt.Sprintf(`"%x"`, xxh3.Hash128(body).Bytes()), body, strictPolicy}
}

// OpenAPI returns the OpenAPI document.
func OpenAPI() *CachedDocument { return NewDocument("application/json", bytes.TrimSpace(openAPI)) }
