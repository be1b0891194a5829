// Shows the HTML of a message in a frame without scripts and without the page's origin. The frame
// inherits the page's policy, so nothing remote loads, whatever the message contains.
import { full, el, icon, loading, type Child } from "./ui";
import { harmless, type Shown } from "./html";
import { changed, forgetting } from "./store";

let key = "", url = "", shown: Shown | null = null, pending = "";

/** forget releases the message that was shown. */
export function forget() {
  if (url) URL.revokeObjectURL(url);
  key = url = pending = "";
  shown = null;
}

forgetting(forget);

const styles = "<style>body{margin:12px;font:15px/1.5 system-ui,sans-serif;color:#1b1f24;background:#fff;overflow-wrap:anywhere}img{max-width:100%;height:auto}.left-out{border:1px dashed #999;color:#666;padding:0 4px}pre{white-space:pre-wrap}table{max-width:100%}</style>";

function make(of: string, html: string, images: Map<string, string>) {
  forget();
  key = of;
  shown = harmless(html, (cid) => images.get(cid.replace(/^<|>$/g, "")) ?? null);
  const text = `<!doctype html><html><head><meta charset="utf-8"><title>Mail</title>${styles}</head><body>${shown.html}</body></html>`;
  url = URL.createObjectURL(new Blob([text], { type: "text/html;charset=utf-8" }));
}

/** view shows the HTML of the message called `of`. Its images come from the raw message. */
export function view(of: string, html: string, raw: () => Promise<Uint8Array<ArrayBuffer>>): Child[] {
  if (key !== of && pending !== of) {
    if (/cid:/i.test(html)) {
      pending = of;
      void pictures(raw).then((images) => {
        if (pending === of) make(of, html, images);
        changed();
      });
    } else make(of, html, new Map());
  }
  if (key !== of || !shown) return [loading("the images")];
  return [
    shown.remote > 0 && el("p.note", { role: "note" }, icon("lock"), el("span", null, `${shown.remote === 1 ? "1 remote part was" : shown.remote + " remote parts were"} left out: loading would show the sender that the message was read.`)),
    full("iframe", { key: url, attrs: { sandbox: "allow-popups allow-popups-to-escape-sandbox", src: url, title: "The message as HTML", referrerpolicy: "no-referrer" } }),
  ];
}

async function pictures(raw: () => Promise<Uint8Array<ArrayBuffer>>): Promise<Map<string, string>> {
  try {
    const { images } = await import("./parse");
    return await images(await raw());
  } catch {
    return new Map(); // the placeholders of the images then show their alternative text
  }
}
