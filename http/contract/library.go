package contract

import (
	"strings"
	"sync"

	"inboxd/http/clientpackages"
)

// Library has the documents about the API by their path, and the packages of the clients. Each is made
// when it is first requested.
type Library struct {
	openAPI           func() *CachedDocument
	page              func() (*CachedDocument, error)
	markdown, clients func() (map[string]*CachedDocument, error)
}

// NewLibrary returns the documents of the service with that URL for clients. smtp (HOST:PORT) is where
// it receives messages on this machine.
func NewLibrary(url, smtp string) *Library {
	return &Library{
		openAPI:  sync.OnceValue(OpenAPI),
		page:     sync.OnceValues(func() (*CachedDocument, error) { return RenderDocs(url, smtp) }),
		markdown: sync.OnceValues(func() (map[string]*CachedDocument, error) { return RenderMarkdown(url, smtp) }),
		clients:  sync.OnceValues(func() (map[string]*CachedDocument, error) { return clientDocuments(url) }),
	}
}

// Find returns the document at a path; nil if there is none.
func (l *Library) Find(path string) (*CachedDocument, error) {
	switch {
	case path == "/openapi.json":
		return l.openAPI(), nil
	case path == "/docs":
		return l.page()
	case strings.HasPrefix(path, "/clients"):
		documents, err := l.clients()
		return documents[path], err
	}
	documents, err := l.markdown()
	return documents[path], err
}

func clientDocuments(url string) (map[string]*CachedDocument, error) {
	index, err := clientpackages.RenderIndex(url)
	if err != nil {
		return nil, err
	}
	files, err := clientpackages.Files()
	documents := map[string]*CachedDocument{"/clients": NewDocument("text/html; charset=utf-8", index)}
	for name, body := range files {
		documents["/clients/"+name] = NewDocument("application/octet-stream", body)
	}
	return documents, err
}
