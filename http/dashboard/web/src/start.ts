// Start here: the first calls, with the reader's own address filled in.
import type { VNode } from "snabbdom";
import { changed, part } from "./store";
import * as boxes from "./inboxes";
import * as place from "./place";
import { base } from "./session";
import { button, code, el, link, outside } from "./ui";

const start = part(() => ({ tab: "curl" }));

export const enter = () => {};

type Example = { title: string; parts: (addr: string) => [string, string, string][] };

const examples: Record<string, Example> = {
  curl: { title: "curl", parts: (a) => [
    ["Wait for a code", "The response comes immediately if a message with a code exists, else as soon as one arrives.", `export KEY=svc_live_...\ncurl -s "${base}/api/v1/inboxes/${a}/latest?wait=60&otp=true&fields=otp_code" -H "X-API-Key: $KEY"`],
    ["Send a message", "The message is accepted immediately and delivered in the background.", `curl -s "${base}/api/v1/inboxes/${a}/send" -H "X-API-Key: $KEY" \\\n  -d '{"to":"someone@example.com","subject":"Hello","body":"From an agent."}'`],
    ["Make another inbox", "", `curl -s "${base}/api/v1/inboxes" -H "X-API-Key: $KEY" -d '{}'`],
  ] },
  go: { title: "Go", parts: (a) => [
    ["Wait for a code", "This program needs only the standard library. Run it with KEY=svc_live_... go run main.go", `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	req, _ := http.NewRequest("GET", "${base}/api/v1/inboxes/${a}/latest?wait=60&otp=true&fields=otp_code", nil)
	req.Header.Set("X-API-Key", os.Getenv("KEY"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	var latest struct {
		Email *struct {
			Code string \`json:"otp_code"\`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&latest); err != nil {
		panic(err)
	}
	if latest.Email != nil {
		fmt.Println(latest.Email.Code)
	}
}`],
  ] },
  tools: { title: "Tool server", parts: () => [
    ["Over stdio", "For clients that start the tool server themselves: add this to their configuration.", JSON.stringify({ mcpServers: { inbox: { command: "inbox-mcp", args: ["--base-url", base], env: { INBOX_API_KEY: "svc_live_..." } } } }, null, 2)],
    ["Over HTTP", "For clients that connect to a running tool server.", `INBOX_API_KEY=svc_live_... inbox-mcp --base-url ${base} --http 127.0.0.1:8090\n# clients connect to http://127.0.0.1:8090/mcp`],
  ] },
  webhook: { title: "Webhook", parts: (a) => [
    ["Check the signature, then respond", `Node.js without packages: WEBHOOK_SECRET=whsec_... node receiver.mjs. It receives the events of ${a} and your other inboxes.`, `import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = Buffer.from(process.env.WEBHOOK_SECRET.slice("whsec_".length), "base64");

createServer(async (req, res) => {
  let body = "";
  for await (const part of req.setEncoding("utf8")) body += part;
  const id = req.headers["webhook-id"], at = req.headers["webhook-timestamp"];
  const want = Buffer.from("v1," + createHmac("sha256", secret).update(\`\${id}.\${at}.\${body}\`).digest("base64"));
  const ok = String(req.headers["webhook-signature"]).split(" ").map(Buffer.from)
    .some((s) => s.length === want.length && timingSafeEqual(s, want));
  if (!ok || Math.abs(Date.now() / 1000 - at) > 300) return res.writeHead(401).end();
  const event = JSON.parse(body);
  console.log(event.event, event.inbox, event.otp);
  res.writeHead(204).end();
}).listen(8000);`],
  ] },
};

export function view(): VNode {
  const list = boxes.boxes.list.items, addr = list[0]?.address ?? "your-inbox@" + (document.documentElement.dataset.domain ?? "");
  const e = examples[start.tab];
  return el("section.pane.page", { "aria-label": "Start here" }, el("header.bar.title", null, el("h1", null, "Start here"), outside(base + "/docs", "API docs"), outside(base + "/openapi.json", "OpenAPI")),
    el("div.body", null, el("ol.steps", null,
      el("li", null, list.length ? ["Your inbox is ", el("span.mono", null, addr), "."] : ["Make an inbox. ", button("New inbox", boxes.create, {}, "button.small")]),
      el("li", null, "Make a key for your agent under ", link(place.to("keys"), "API keys"), ", and replace svc_live_... in the examples with it."),
      el("li", null, "Copy one of these examples.")),
    el("div.filterset", { role: "group", "aria-label": "For" }, Object.entries(examples).map(([id, x]) => button(x.title, () => ((start.tab = id), changed()), { "aria-pressed": id === start.tab ? "true" : "false" }, "button.filter"))),
    e.parts(addr).map(([title, text, snippet]) => el("section", null, el("h2", null, title), text && el("p", null, text), code(snippet, title)))));
}
