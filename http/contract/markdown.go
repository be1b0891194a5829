package contract

import (
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

// RenderMarkdown renders the documentation for language models, by path: /docs.md with everything,
// /docs/NAME.md with one part each, and /llms.txt, which lists the parts in the form of
// https://llmstxt.org. The arguments are those of RenderDocs. Links lead to the anchors of the page.
func RenderMarkdown(url, smtp string) (map[string]*CachedDocument, error) {
	doc, _, err := readOutline(url, smtp)
	if err != nil {
		return nil, err
	}
	convert := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))))
	documents := map[string]*CachedDocument{}
	head := "# " + doc.Info.Title + "\n\n"
	whole := head + doc.Info.Description + "\n\n"
	var agent, session strings.Builder
	for _, part := range doc.Parts {
		text, err := convert.ConvertString(strings.ReplaceAll(string(part.HTML), `href="#`, `href="`+url+`/docs#`), converter.WithDomain(url))
		if err != nil {
			return nil, fmt.Errorf("contract: %s as Markdown: %w", part.Title, err)
		}
		path := "/docs/" + part.Anchor + ".md"
		documents[path] = markdownDocument(text + "\n")
		whole += text + "\n\n"
		list := &agent
		if part.Surface == "session" {
			list = &session
		}
		fmt.Fprintf(list, "- [%s](%s%s): %s\n", part.Title, url, path, part.About)
	}
	documents["/docs.md"] = markdownDocument(whole)
	documents["/llms.txt"] = NewDocument("text/plain; charset=utf-8", []byte(head+"> "+doc.Info.Summary+"\n\n"+doc.Info.Description+"\n\n"+
		"Programs use an API key (`X-API-Key`). The clients for Python and TypeScript wait for messages and codes.\n\n"+
		"## API\n\n"+agent.String()+
		"\n## Clients and schemas\n\n"+
		"- [Clients]("+url+"/clients): packages for pip and npm, with the commands that install them\n"+
		"- [OpenAPI]("+url+"/openapi.json): the whole API as OpenAPI 3.1\n"+
		"- [Tools]("+url+"/api/v1/tools?format=openai): function schemas for models, also with `format=anthropic` and `format=gemini`\n"+
		"\n## Optional\n\n"+session.String()+
		"- [Everything]("+url+"/docs.md): all parts in one file\n"))
	return documents, nil
}

func markdownDocument(text string) *CachedDocument {
	return NewDocument("text/markdown; charset=utf-8", []byte(text))
}
