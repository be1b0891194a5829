// Makes the HTML of a message harmless before it is shown. The HTML is parsed into names,
// attributes and text, and written again from those that are known to be harmless. Everything that
// this parser does not understand is dropped. The sandbox of the frame and the page's policy are
// further barriers. Only this module prevents connections (prefetch, preconnect) and reports.

/** Shown is the harmless HTML, and the number of remote parts that were left out. */
export type Shown = { html: string; remote: number };

const kept = new Set(("a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del details dfn dir div dl dt em figcaption figure font footer " +
  "h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main map mark menu nav ol p pre q rp rt ruby s samp section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr body").split(" "));
const alone = new Set(["br", "hr", "img", "wbr", "col"]);
/** Elements that are dropped together with their content, which is not text to read. */
const dropped = new Set("script style template svg math object applet iframe frameset noframes noembed audio video canvas select datalist title".split(" "));
/** Elements whose content is text up to the end tag, whatever it contains (HTML, 13.2.5.1). */
const rawText = new Set("script style textarea title xmp iframe noembed noframes noscript".split(" "));
const attributes = new Set(("align alt axis bgcolor border cellpadding cellspacing char charoff clear color cols colspan compact datetime dir face frame headers height hspace lang noshade nowrap open reversed rowspan rules scope size " +
  "span start style summary title type valign value vspace width class id role").split(" "));

type Tag = { name: string; end: boolean; attrs: [string, string][] };
type Token = { text: string } | Tag;

/** tokens parses markup like a browser, except that scripts have no effect. */
function* tokens(s: string): Generator<Token> {
  let i = 0;
  while (i < s.length) {
    const lt = s.indexOf("<", i);
    if (lt < 0) return yield { text: s.slice(i) };
    if (lt > i) yield { text: s.slice(i, lt) };
    const c = s[lt + 1] ?? "";
    if (/[a-z]/i.test(c) || (c === "/" && /[a-z]/i.test(s[lt + 2] ?? ""))) {
      const [tag, at] = readTag(s, lt);
      if (!tag) return;
      i = at;
      yield tag;
      if (!tag.end && rawText.has(tag.name)) {
        const close = new RegExp("</" + tag.name + "(?=[\\s/>])", "gi");
        close.lastIndex = i;
        const found = close.exec(s);
        const text = s.slice(i, found ? found.index : s.length);
        i = found ? found.index : s.length;
        if (text) yield { text };
      }
    } else if (s.startsWith("<!--", lt)) {
      const rest = /^<!--(?:-?>|[^]*?--!?>)/.exec(s.slice(lt, lt + 100_000));
      i = rest ? lt + rest[0].length : endOf(s, "-->", lt + 4);
    } else if (c === "!" || c === "?" || c === "/") i = endOf(s, ">", lt + 2);
    else {
      yield { text: "<" };
      i = lt + 1;
    }
  }
}

function endOf(s: string, what: string, from: number): number {
  const at = s.indexOf(what, from);
  return at < 0 ? s.length : at + what.length;
}

const attribute = /[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)?))?/y;

function readTag(s: string, lt: number): [Tag | null, number] {
  const end = s[lt + 1] === "/";
  const named = /[^\s/>]+/y;
  named.lastIndex = lt + (end ? 2 : 1);
  const name = named.exec(s)![0].toLowerCase();
  let i = named.lastIndex;
  const attrs: [string, string][] = [];
  for (;;) {
    while (i < s.length && /[\s/]/.test(s[i])) i++;
    if (i >= s.length) return [null, i]; // a tag without an end is dropped, together with the rest
    if (s[i] === ">") return [{ name, end, attrs }, i + 1];
    attribute.lastIndex = i;
    const m = attribute.exec(s);
    if (!m) {
      i++;
      continue;
    }
    i = attribute.lastIndex;
    attrs.push([m[1].toLowerCase(), entities(m[2] ?? m[3] ?? m[4] ?? "")]);
  }
}

const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", colon: ":", sol: "/", tab: "\t", newline: "\n", lpar: "(", rpar: ")", period: ".", commat: "@", bsol: "\\", semi: ";", num: "#", quest: "?", equals: "=", plus: "+", hyphen: "-", lowbar: "_", excl: "!" };

/**
 * Names that are also valid without a semicolon. In an attribute they are so only if no letter,
 * digit or "=" follows (HTML, 13.2.5.73).
 */
const unended = new Set(["amp", "lt", "gt", "quot", "nbsp"]);

/** entities resolves character references in attributes, where they could hide a scheme. */
const entities = (s: string) =>
  s.replace(/&(?:#x([\da-f]+)|#(\d+)|([a-z][a-z\d]*));?/gi, (all: string, hex: string, dec: string, word: string, at: number) => {
    if (word && !all.endsWith(";") && (!unended.has(word.toLowerCase()) || s[at + all.length] === "=")) return all;
    if (word) return named[word.toLowerCase()] ?? all;
    const n = hex ? parseInt(hex, 16) : Number(dec);
    return n > 0 && n < 0x110000 && !(n >= 0xd800 && n < 0xe000) ? String.fromCodePoint(n) : "\ufffd";
  });

const quoted = (s: string) => s.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
/** In text, references stay unchanged: they can only produce characters. */
const plain = (s: string) => s.replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\0/g, "\ufffd");

// Everything in CSS that could fetch something. Comments and escapes, which could hide it, are
// removed first.
const fetches = /(?:url|src|image|image-set|cross-fade|element|paint|attr|var|env)\s*\(|@\s*(?:import|font-face|namespace|charset|document|property)/i;

function declarations(css: string, found: () => void): string {
  return css.replace(/\/\*[^]*?(?:\*\/|$)/g, " ").replace(/[\\<>{}]/g, "").split(";").filter((d) => {
    const bad = fetches.test(d);
    if (bad && /https?:|\/\//i.test(d)) found();
    return !bad && !/position\s*:\s*fixed|behavior\s*:|-moz-binding|expression\s*\(/i.test(d);
  }).join(";");
}

/** sheet keeps the rules of a style element that fetch nothing. */
function sheet(css: string, found: () => void): string {
  const text = css.replace(/<!--|-->/g, " ").replace(/\/\*[^]*?(?:\*\/|$)/g, " ").replace(/[\\<]/g, "");
  return text.replace(/@\s*(?:import|charset|namespace)[^;]*(?:;|$)/gi, (all) => (/import/i.test(all) && found(), "")).replace(/@\s*(?:font-face|property|document)[^{]*\{[^}]*\}?/gi, (all) => (/url/i.test(all) && found(), ""))
    .replace(/[^{};]+(?=[;}]|$)/g, (d) => {
      if (!fetches.test(d)) return d;
      found();
      return "";
    });
}

const blank = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029]/g;

/** harmless writes the HTML of a message again. `image` returns the data: URL of a part by its Content-ID. */
export function harmless(markup: string, image: (cid: string) => string | null): Shown {
  const out: string[] = [];
  let remote = 0, inDropped: string[] = [];
  const found = () => void remote++;
  let raw = "";
  for (const t of tokens(markup.slice(0, 4 << 20))) {
    if ("text" in t) {
      if (raw === "style" && !inDropped.length) out.push("<style>", sheet(t.text, found), "</style>");
      else if (!inDropped.length && raw !== "title" && raw !== "style") out.push(plain(t.text));
      raw = "";
      continue;
    }
    raw = !t.end && rawText.has(t.name) ? t.name : "";
    if (!t.end) remote += loads(t);
    if (inDropped.length) {
      if (t.end) {
        const at = inDropped.lastIndexOf(t.name);
        if (at >= 0) inDropped = inDropped.slice(0, at);
      } else if (t.name === inDropped[inDropped.length - 1]) inDropped.push(t.name);
      continue;
    }
    if (dropped.has(t.name)) {
      if (!t.end && t.name !== "style" && t.name !== "title") inDropped.push(t.name);
      continue;
    }
    if (t.name === "img" && !t.end) out.push(picture(t, image, found));
    else if (kept.has(t.name)) out.push(t.end ? (alone.has(t.name) ? "" : `</${t.name}>`) : written(t, found));
    else if (/^(input|button|option|form|fieldset|label|center)$/.test(t.name)) out.push(" ");
  }
  return { html: out.join(""), remote };
}

/** loads counts what an element would have fetched. */
function loads(t: { name: string; attrs: [string, string][] }): number {
  if (t.name === "a" || t.name === "img") return 0;
  return t.attrs.some(([k, v]) => /^(src|srcset|background|poster|data|href|xlink:href)$/.test(k) && /^(https?:|\/\/)/i.test(v.replace(blank, ""))) ? 1 : 0;
}

function written(t: { name: string; attrs: [string, string][] }, found: () => void): string {
  const name = t.name === "body" ? "div" : t.name;
  let s = "<" + name;
  const seen = new Set<string>();
  for (const [k, v] of t.attrs) {
    if (seen.has(k)) continue;
    seen.add(k);
    if (k === "style") s += ` style="${quoted(declarations(v, found))}"`;
    else if (name === "a" && k === "href") {
      const to = v.replace(blank, "");
      if (/^(https?:|mailto:|#)/i.test(to)) s += ` href="${quoted(to)}" target="_blank" rel="noopener noreferrer"`;
    } else if (attributes.has(k)) s += ` ${k}="${quoted(v)}"`;
  }
  return s + ">";
}

function picture(t: { name: string; attrs: [string, string][] }, image: (cid: string) => string | null, found: () => void): string {
  const of = (k: string) => t.attrs.find(([n]) => n === k)?.[1] ?? "";
  const src = of("src").replace(blank, ""), alt = of("alt");
  let data: string | null = null;
  if (/^cid:/i.test(src)) data = image(decoded(src.slice(4)));
  else if (/^data:image\/(png|gif|jpe?g|webp|bmp|avif)[;,]/i.test(src)) data = src;
  else if (src) found();
  if (data) return written({ name: "img", attrs: t.attrs.filter(([k]) => k !== "src") }, found).slice(0, -1) + ` src="${quoted(data)}">`;
  return alt ? `<span class="left-out">${quoted(alt)}</span>` : "";
}

function decoded(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

/** textOf returns the text of a message's HTML. */
export function textOf(markup: string): string {
  let out = "", raw = "", skip = "";
  for (const t of tokens(markup.slice(0, 4 << 20))) {
    if ("text" in t) {
      if (!raw && !skip) out += entities(t.text.replace(/\s+/g, " "));
      raw = "";
    } else {
      raw = !t.end && rawText.has(t.name) ? t.name : "";
      if (!skip && !t.end && /^(svg|math|template)$/.test(t.name)) skip = t.name;
      else if (t.end && t.name === skip) skip = "";
      if (/^(br|p|div|tr|li|h\d|table|blockquote|pre)$/.test(t.name) && !out.endsWith("\n")) out += "\n";
    }
  }
  return out.trim();
}
