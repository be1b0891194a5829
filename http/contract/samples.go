package contract

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// credential returns the header field of the credential that the examples use, the text before the
// credential, and the name of its variable; no field: none is needed.
func (o operationDoc) credential() (field, prefix, variable string) {
	switch who := o.Who(); {
	case who == "session":
		return "Authorization", "Bearer ", "SESSION"
	case strings.Contains(who, "account key"):
		return "X-API-Key", "", "KEY"
	case who != "none":
		return "X-API-Key", "", "INBOX_KEY"
	}
	return "", "", ""
}

// exampleBody returns the example of the request body in one line, or "".
func (o operationDoc) exampleBody() string {
	body := o.Body()
	if body == nil || len(body.Example) == 0 {
		return ""
	}
	compact := body.Example.Clone()
	_ = compact.Compact() // it was checked to be valid JSON when the contract was parsed
	return string(compact)
}

// Curl returns the operation as a curl command.
func (o operationDoc) Curl() string {
	b := "curl"
	if o.Method != "GET" {
		b += " -X " + o.Method
	}
	if field, prefix, variable := o.credential(); field != "" {
		b += fmt.Sprintf(` -H "%s: %s$%s"`, field, prefix, variable)
	}
	if body := o.exampleBody(); body != "" {
		b += " -d '" + body + "'"
	}
	path := strings.NewReplacer("{addr}", "$ADDRESS", "{", "$", "}", "").Replace(o.Path)
	return b + ` "$BASE` + path + `"`
}

// jsonWords matches the strings of a JSON text, and the words that Python writes in another way.
var jsonWords = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|true|false|null`)

// Python returns the operation as a call of the client, or of httpx if the client does not have it.
func (o operationDoc) Python() string {
	if sample := o.sample("Python"); sample != "" {
		return sample
	}
	b := "httpx." + strings.ToLower(o.Method) + `(f"{BASE}`
	if o.Method == "DELETE" && o.exampleBody() != "" { // httpx.delete takes no body
		b = `httpx.request("DELETE", f"{BASE}`
	}
	b += strings.ReplaceAll(o.Path, "{addr}", "{ADDRESS}") + `"`
	if field, prefix, variable := o.credential(); field != "" {
		b += `, headers={"` + field + `": `
		if prefix != "" {
			variable = `f"` + prefix + "{" + variable + `}"`
		}
		b += variable + "}"
	}
	if body := o.exampleBody(); body != "" {
		b += ", json=" + jsonWords.ReplaceAllStringFunc(body, func(word string) string {
			return cmp.Or(map[string]string{"true": "True", "false": "False", "null": "None"}[word], word)
		})
	}
	return b + map[string]string{"json": ").json()", "text": ").text", "arrayBuffer": ").content"}[o.responseForm()]
}

// TypeScript returns the operation as a call of the client, or of fetch if the client does not have it.
func (o operationDoc) TypeScript() string {
	if sample := o.sample("TypeScript"); sample != "" {
		return sample
	}
	var options []string
	if o.Method != "GET" {
		options = append(options, `method: "`+o.Method+`"`)
	}
	if field, prefix, variable := o.credential(); field != "" {
		if prefix != "" {
			variable = "`" + prefix + "${" + variable + "}`"
		}
		options = append(options, `headers: { "`+field+`": `+variable+" }")
	}
	if body := o.exampleBody(); body != "" {
		options = append(options, "body: JSON.stringify("+body+")")
	}
	b := "const response = await fetch(`${BASE}" + strings.NewReplacer("{addr}", "${ADDRESS}", "{", "${").Replace(o.Path) + "`"
	if len(options) > 0 {
		b += ", { " + strings.Join(options, ", ") + " }"
	}
	return b + ");\nconst result = await response." + o.responseForm() + "();"
}

func (o operationDoc) sample(language string) string {
	for _, one := range o.CodeSamples {
		if one.Lang == language {
			return one.Source
		}
	}
	return ""
}

// responseForm says how programs read the body of the successful response.
func (o operationDoc) responseForm() string {
	for _, m := range o.Responses[0].Value.Content {
		switch {
		case m.Name == "application/json":
			return "json"
		case !strings.HasPrefix(m.Name, "text/"):
			return "arrayBuffer"
		}
	}
	return "text"
}

// Success returns the first 2xx response with an example.
func (o operationDoc) Success() string {
	for _, r := range o.Responses {
		for _, m := range r.Value.Content {
			if len(m.Value.Example) > 0 && strings.HasPrefix(r.Name, "2") {
				pretty := m.Value.Example.Clone()
				_ = pretty.Indent(jsontext.WithIndent("  "))
				return r.Name + "\n" + string(pretty)
			}
		}
	}
	return ""
}
