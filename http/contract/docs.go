package contract

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed docs.html
var docsTemplate string

// guideTemplate explains what the list of operations does not show.
//
//go:embed guide.html
var guideTemplate string

// docsScript adds the copy buttons, the search field and the mark of the section in view.
//
//go:embed docs.js
var docsScript string

// docsPolicy permits the page's own styles and its one script, identified by a digest, and nothing
// else.
func docsPolicy() string {
	digest := sha256.Sum256([]byte(docsScript))
	return strings.Replace(strictPolicy, "; ", "; style-src 'unsafe-inline'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'; ", 1)
}

// RenderDocs renders the contract as an HTML page. Everything except the copy buttons, the search and
// the mark in the contents works without scripts, and the page loads no external resources. base is
// the URL of the service for clients. smtp (HOST:PORT) is where it receives messages on this machine.
func RenderDocs(base, smtp string) (*CachedDocument, error) {
	doc, t, err := readOutline(base, smtp)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, "docs", doc); err != nil {
		return nil, fmt.Errorf("contract: the page: %w", err)
	}
	page := NewDocument("text/html; charset=utf-8", out.Bytes())
	page.Policy = docsPolicy()
	return page, nil
}

// readOutline reads the contract and the templates, and renders the parts of the documentation.
func readOutline(base, smtp string) (*contractOutline, *template.Template, error) {
	doc := &contractOutline{Base: base, SMTP: smtp, Script: template.JS(docsScript)}
	if err := json.Unmarshal(openAPI, doc, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, nil, fmt.Errorf("contract: the document: %w", err)
	}
	if err := doc.assignOperations(); err != nil {
		return nil, nil, fmt.Errorf("contract: the operations: %w", err)
	}
	t, err := template.New("docs").Funcs(template.FuncMap{"code": inlineCode, "anchor": anchorName}).Parse(docsTemplate + guideTemplate)
	if err != nil {
		return nil, nil, fmt.Errorf("contract: the page: %w", err)
	}
	add := func(part documentPart, name string, of any) {
		var out bytes.Buffer
		err = errors.Join(err, t.ExecuteTemplate(&out, name, of))
		part.HTML = template.HTML(out.String())
		doc.Parts = append(doc.Parts, part)
	}
	add(documentPart{Anchor: "start", Title: "Start here", About: "The first code, waiting, tags, codes and links, sent messages, webhooks, limits."}, "start", doc)
	for _, tag := range doc.Tags {
		sentence, _, _ := strings.Cut(tag.Description, ". ")
		add(documentPart{Anchor: anchorName(tag.Name), Title: tag.Name, About: strings.TrimSuffix(sentence, ".") + ".", Surface: tag.Surface()}, "tag", tag)
	}
	add(documentPart{Anchor: "objects", Title: "Objects", About: "The fields of messages, inboxes, meetings, events and all other objects."}, "objects", doc)
	return doc, t, err
}

// documentPart is a part of the documentation: the introduction, the operations under a tag, or the
// objects.
type documentPart struct {
	Anchor, Title, About, Surface string
	HTML                          template.HTML
}

// contractOutline is the part of the contract that the page shows, in the order of the contract.
type contractOutline struct {
	Base   string         `json:"-"`
	SMTP   string         `json:"-"`
	Script template.JS    `json:"-"`
	Parts  []documentPart `json:"-"`
	Info   struct{ Title, Summary, Description string }
	Tags   []*tagDoc

	Paths      orderedObject[orderedObject[jsontext.Value]]
	Components struct {
		Parameters map[string]parameterDoc
		Responses  map[string]responseDoc
		Schemas    orderedObject[schemaDoc]
	}
}

type tagDoc struct {
	Name, Description string
	Operations        []operationDoc `json:"-"`
}

// Surface returns the surface that all operations under the tag belong to; "": there is none.
func (t *tagDoc) Surface() string {
	for _, o := range t.Operations {
		if o.Surface() != t.Operations[0].Surface() {
			return ""
		}
	}
	return t.Operations[0].Surface()
}

type operationDoc struct {
	Method, Path string `json:"-"`
	Tags         []string
	OperationID  string `json:"operationId"`
	Summary      string
	Description  string
	Security     []map[string][]string
	Permission   string                          `json:"x-permission"`
	CodeSamples  []struct{ Lang, Source string } `json:"x-codeSamples"` // with the clients
	Parameters   []parameterDoc
	RequestBody  *struct {
		Required bool
		Content  map[string]mediaDoc
	}
	Responses orderedObject[responseDoc]
}

type parameterDoc struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                schemaDoc
}

type responseDoc struct {
	Ref         string `json:"$ref"`
	Description string
	Content     orderedObject[mediaDoc]
}

type mediaDoc struct {
	Schema  schemaDoc
	Example jsontext.Value
}

type schemaDoc struct {
	Ref         string `json:"$ref"`
	Type        jsontext.Value
	Description string
	Enum        []any
	EnumMeaning orderedObject[string] `json:"x-enumDescriptions"`
	Default     jsontext.Value
	Minimum     *float64
	Maximum     *float64
	MaxLength   *int `json:"maxLength"`
	Properties  orderedObject[schemaDoc]
	Required    []string
	Items       *schemaDoc
	AnyOf       []schemaDoc `json:"anyOf"`
	AllOf       []schemaDoc `json:"allOf"`
}

// orderedObject is a JSON object that preserves the order of its members.
type orderedObject[T any] []objectMember[T]

type objectMember[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *orderedObject[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return fmt.Errorf("an object is expected: %w", err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		m := objectMember[T]{Name: name.String()}
		if err := json.UnmarshalDecode(d, &m.Value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	_, err := d.ReadToken()
	return err
}

// assignOperations gives each tag its operations.
func (d *contractOutline) assignOperations() error {
	for _, path := range d.Paths {
		var shared []parameterDoc
		for _, m := range path.Value {
			if m.Name == "parameters" {
				if err := json.Unmarshal(m.Value, &shared, json.MatchCaseInsensitiveNames(true)); err != nil {
					return err
				}
				continue
			}
			op := operationDoc{Method: strings.ToUpper(m.Name), Path: path.Name}
			if err := json.Unmarshal(m.Value, &op, json.MatchCaseInsensitiveNames(true)); err != nil {
				return err
			}
			op.Parameters = append(shared[:len(shared):len(shared)], op.Parameters...)
			for i, p := range op.Parameters {
				if p.Ref != "" {
					op.Parameters[i] = d.Components.Parameters[refName(p.Ref)]
				}
			}
			for i, r := range op.Responses {
				if r.Value.Ref != "" {
					op.Responses[i].Value = d.Components.Responses[refName(r.Value.Ref)]
				}
			}
			for _, tag := range d.Tags {
				if len(op.Tags) > 0 && op.Tags[0] == tag.Name {
					tag.Operations = append(tag.Operations, op)
				}
			}
		}
	}
	return nil
}

// Who lists the credentials that an operation accepts.
func (o operationDoc) Who() string {
	words := map[string]string{"session": "session", "accountKey": "account key", "inboxKey": "inbox key"}
	var list []string
	for _, s := range o.Security {
		for name := range s {
			list = append(list, words[name])
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// Body returns the JSON request body, nil if there is none.
func (o operationDoc) Body() *mediaDoc {
	if o.RequestBody == nil {
		return nil
	}
	m := o.RequestBody.Content["application/json"]
	return &m
}

// Surface returns the surface that an operation belongs to, agent or session; "": it is on neither.
func (o operationDoc) Surface() string {
	switch {
	case strings.HasPrefix(o.Path, "/api/v1/"), strings.HasPrefix(o.Path, "/compat/"):
		return "agent"
	case strings.HasPrefix(o.Path, "/api/"):
		return "session"
	}
	return ""
}

// fieldRow is a row in the table of an object.
type fieldRow struct {
	Name   string // including its path: attachments[].filename
	Needed bool
	schemaDoc
}

// Fields returns the members of an object. Each is followed by the members of the unnamed object
// that it contains, if any.
func (s schemaDoc) Fields() []fieldRow {
	var list []fieldRow
	for _, m := range s.Properties {
		list = append(list, fieldRow{m.Name, slices.Contains(s.Required, m.Name), m.Value})
		object, mark := m.Value.innerObject()
		for _, f := range object.Fields() {
			f.Name = m.Name + mark + "." + f.Name
			list = append(list, f)
		}
	}
	return list
}

// innerObject returns the unnamed object that a value is, may be, or is a list of.
func (s schemaDoc) innerObject() (object schemaDoc, mark string) {
	if s.Items != nil {
		object, _ = s.Items.innerObject()
		return object, "[]"
	}
	for _, one := range s.AnyOf {
		if len(one.Properties) > 0 {
			return one, ""
		}
	}
	return s, ""
}

// Kind describes the type of a value. Named objects link to their description.
func (s schemaDoc) Kind() template.HTML {
	switch {
	case s.Ref != "":
		name := template.HTMLEscapeString(refName(s.Ref))
		return template.HTML(`<a href="#object-` + name + `">` + name + `</a>`)
	case len(s.AnyOf) > 0, len(s.AllOf) > 0:
		var list []string
		for _, one := range append(s.AnyOf, s.AllOf...) {
			list = append(list, string(one.Kind()))
		}
		return template.HTML(strings.Join(list, " or ")) // each part is escaped
	}
	var kinds []string
	if len(s.Type) > 0 && s.Type.Kind() == '[' {
		_ = json.Unmarshal(s.Type, &kinds)
	} else if len(s.Type) > 0 {
		kinds = []string{strings.Trim(string(s.Type), `"`)}
	}
	if s.Items != nil {
		return "array of " + s.Items.Kind()
	}
	return template.HTML(template.HTMLEscapeString(strings.Join(kinds, " or ")))
}

// Limits describes the limits of a value.
func (s schemaDoc) Limits() string {
	var list []string
	add := func(format string, v any) { list = append(list, fmt.Sprintf(format, v)) }
	if s.Minimum != nil {
		add("at least %v", *s.Minimum)
	}
	if s.Maximum != nil {
		add("at most %v", *s.Maximum)
	}
	if s.MaxLength != nil {
		add("at most %d characters", *s.MaxLength)
	}
	var among []string
	for _, v := range s.Enum {
		if v == nil {
			v = "null"
		}
		among = append(among, fmt.Sprint(v))
	}
	if len(among) > 0 {
		add("one of %s", strings.Join(among, ", "))
	}
	if len(s.Default) > 0 {
		add("default %s", string(s.Default))
	}
	return strings.Join(list, "; ")
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func anchorName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-")
}

// inlineCode turns `word` into code and blank lines into paragraphs. Everything else is plain text.
func inlineCode(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		escaped := strings.ReplaceAll(template.HTMLEscapeString(part), "\n\n", "</p><p>")
		if i%2 == 1 {
			escaped = "<code>" + escaped + "</code>"
		}
		b.WriteString(escaped)
	}
	return template.HTML(b.String()) // each part was escaped above
}
