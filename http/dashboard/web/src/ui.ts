// Elements that every view uses. Text is inserted only as text nodes and attributes: neither this
// module nor any other part of the page parses markup.
import { h, type VNode, type VNodeData, type On } from "snabbdom";
import { Failure, Left } from "./api";
import { changed, forgetting } from "./store";
import * as words from "./words";

export type Child = VNode | string | null | undefined | false;
export type Attrs = Record<string, string | number | boolean | null | undefined>;

/**
 * el makes an element: el("button.main", {type: "submit"}, "Save"). A null attribute is omitted.
 * `key` distinguishes the element from its siblings.
 */
export function el(sel: string, a: Attrs | null, ...children: (Child | Child[])[]): VNode {
  const { key, ...attrs } = a ?? {};
  return full(sel, { ...(key ? { key: String(key) } : {}), ...(a ? { attrs: present(attrs) } : {}) }, ...children);
}

export function present(a: Attrs): Record<string, string | number | boolean> {
  return Object.fromEntries(Object.entries(a).filter(([, v]) => v !== null && v !== undefined)) as Record<string, string | number | boolean>;
}

export function full(sel: string, data: VNodeData, ...children: (Child | Child[])[]): VNode {
  const list = children.flat().filter((c): c is VNode | string => c !== null && c !== undefined && c !== false);
  const more = data.attrs?.class; // an attribute would replace the selector's classes
  if (more !== undefined) data.attrs!.class = [...sel.split(".").slice(1), more].filter(Boolean).join(" ");
  return h(sel, data, list);
}

export function button(label: Child | Child[], click: () => void, a: Attrs = {}, sel = "button"): VNode {
  return full(sel, { attrs: present({ type: "button", ...a }), on: { click: (e: Event) => (e.preventDefault(), click()) } }, label);
}

export const link = (href: string, label: Child | Child[], a: Attrs = {}, sel = "a") => el(sel, { href, ...a }, label);

/** outside is a link to another site. Only the reader opens it. */
export const outside = (href: string, label = "Open") =>
  /^(https?|webcal|mailto):/i.test(href) ? el("a.small", { href, target: "_blank", rel: "noopener noreferrer" }, label) : null;

export const when = (t: string, how: (t: string) => string = words.short) => el("time", { datetime: t, title: words.utc(t) }, how(t));

// --- icons: paths in a box of 24 by 24, drawn in the text colour

const strokes: Record<string, string> = {
  mail: "M3 6h18v12H3z M3 7l9 7 9-7", sent: "M21 3L3 10l7 3 3 7z M10 13L21 3", calendar: "M4 6h16v14H4z M4 10h16 M8 3v4 M16 3v4",
  hook: "M8 12a4 4 0 1 0-3 4 M12 6a4 4 0 1 1 5 5 M16 18a4 4 0 1 0 0-4H9", key: "M3 15.5a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0 M11 12.5L20 3.5 M16 7.5l3 3", check: "M4 12.5l5.5 5.5L20 6.5",
  globe: "M3 12a9 9 0 1 0 18 0a9 9 0 1 0-18 0 M3 12h18 M12 3c3 3 3 15 0 18 M12 3c-3 3-3 15 0 18", person: "M8 8a4 4 0 1 0 8 0a4 4 0 1 0-8 0 M4 21c1-8 15-8 16 0",
  start: "M5 4l14 8-14 8z", plus: "M12 5v14 M5 12h14", back: "M15 5l-7 7 7 7", more: "M5 12h.01 M12 12h.01 M19 12h.01", close: "M6 6l12 12 M18 6L6 18",
  reply: "M9 7l-5 5 5 5 M4 12h10c4 0 6 2 6 6", trash: "M5 7h14 M10 4h4 M7 7l1 13h8l1-13", dot: "M4 12a8 8 0 1 0 16 0a8 8 0 1 0-16 0", clip: "M8 12l6-6a3 3 0 0 1 4 4l-8 8a5 5 0 0 1-7-7l7-7",
  save: "M12 4v11 M7 11l5 5 5-5 M5 20h14", lock: "M6 11h12v9H6z M8 11V8a4 4 0 0 1 8 0v3", search: "M5 11a6 6 0 1 0 12 0a6 6 0 1 0-12 0 M16 16l5 5", sun: "M8 12a4 4 0 1 0 8 0a4 4 0 1 0-8 0 M12 2v3 M12 19v3 M2 12h3 M19 12h3 M5 5l2 2 M17 17l2 2 M5 19l2-2 M17 7l2-2", menu: "M4 7h16 M4 12h16 M4 17h16", copy: "M9 9h11v11H9z M5 15H4V4h11v1",
};

export function icon(name: string): VNode {
  return h("svg", { attrs: { viewBox: "0 0 24 24", "aria-hidden": "true", class: name === "more" ? "icon more" : "icon" } }, [h("path", { attrs: { d: strokes[name] ?? "" } })]);
}

// --- notifications: a line that screen readers announce and that disappears after a few seconds

let said = "", saidWrong = false, hush = 0, told = "";

export function say(sentence: string, wrong = false) {
  said = sentence;
  saidWrong = wrong;
  clearTimeout(hush);
  hush = window.setTimeout(() => ((said = ""), changed()), wrong ? 12_000 : 5_000);
  changed();
}

/** tell announces a change to screen readers. */
export function tell(sentence: string) {
  told = sentence;
  changed();
}

/** wrong shows why a call failed, unless the session ended. */
export function wrong(e: unknown) {
  if (e instanceof Left) return;
  if (!(e instanceof Failure)) console.error(e);
  say(e instanceof Failure ? e.message : "Something went wrong in this page. Reload it.", true);
}

export function sayings(): VNode {
  return el("div.sayings", null, full("p", { attrs: { role: "status", class: said ? (saidWrong ? "said bad" : "said") : "said none" } }, said), el("p.unseen", { "aria-live": "polite" }, told));
}

// --- copying

let copied = "";
export async function copy(text: string, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  copied = text;
  say(what);
  setTimeout(() => copied === text && ((copied = ""), changed()), 1500);
}

// Without a secure context there is no clipboard API.
function copyBySelection(text: string) {
  const t = document.createElement("textarea");
  t.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(t);
  t.select();
  document.execCommand("copy");
  t.remove();
}

export const copyButton = (text: string, label = "Copy", a: Attrs = {}, sel = "button.small") =>
  button(copied === text ? [icon("check"), label && "Copied"] : [icon("copy"), label], () => void copy(text), a, sel);

/** code is a text in a box with a copy button. */
export const code = (text: string, label: string) =>
  el("div.codebox", { role: "group", "aria-label": label }, el("pre", { tabindex: 0, "aria-label": label }, text), copyButton(text, "Copy", { "aria-label": "Copy " + label }));

// --- states of a view

export const loading = (what: string) => el("p.quiet.loading", { role: "status" }, `Loading ${what}…`);

export const failed = (sentence: string, again?: () => void) =>
  el("div.empty", { role: "alert" }, el("p", null, sentence), again && button("Try again", again));

export const empty = (title: string, text: Child, ...more: Child[]) => el("div.empty", null, el("h2", null, title), el("p", null, text), ...more);

export const chip = (text: string, kind = "") => el("span.chip" + (kind && "." + kind), null, text);

// --- forms

export type Field = {
  name: string; label: string; type?: string; value?: string; hint?: Child; required?: boolean; options?: [string, string][];
  auto?: string; placeholder?: string; among?: string[]; min?: number; max?: number; checked?: boolean; rows?: number; autofocus?: boolean; disabled?: boolean; inputmode?: string;
};

type Trouble = { field: string; sentence: string };
const troubles = new Map<string, Trouble>();
const busy = new Set<string>();

export function clearForm(id: string) {
  troubles.delete(id);
  busy.delete(id);
}

export const isBusy = (id: string) => busy.has(id);

forgetting(() => {
  troubles.clear();
  busy.clear();
  said = told = copied = "";
  closeDialog();
});

/** run carries out the action of a form or button, one at a time, and shows errors next to their field. */
export async function run(id: string, act: () => Promise<void>) {
  if (busy.has(id)) return;
  busy.add(id);
  troubles.delete(id);
  changed();
  try {
    await act();
  } catch (e) {
    if (e instanceof Failure) troubles.set(id, { field: e.field, sentence: e.message });
    else if (!(e instanceof Left)) throw e;
  } finally {
    busy.delete(id);
    changed();
  }
}

export function trouble(id: string, field: string, sentence: string) {
  troubles.set(id, { field, sentence });
  changed();
}

export const troubleOf = (id: string, fields: string[]) => {
  const t = troubles.get(id);
  return t && !fields.includes(t.field) ? el("p.bad", { role: "alert" }, t.sentence) : null;
};

export function field(form: string, f: Field): VNode {
  const id = `${form}-${f.name}`, t = troubles.get(form), bad = t && t.field === f.name ? t.sentence : "";
  const described = [bad && id + "-bad", f.hint && id + "-hint"].filter(Boolean).join(" ") || null;
  const common: Attrs = {
    id, name: f.name, required: f.required ?? null, "aria-invalid": bad ? "true" : null, "aria-describedby": described, disabled: f.disabled ?? null,
    autocomplete: f.auto ?? "off", placeholder: f.placeholder ?? null, min: f.min ?? null, max: f.max ?? null,
  };
  const hints = [bad && el("p.bad", { id: id + "-bad", role: "alert" }, bad), f.hint && el("p.hint", { id: id + "-hint" }, f.hint)];
  if (f.type === "checkbox")
    return full("div.field.check", { key: id }, full("input", { attrs: present({ ...common, type: "checkbox" }), hook: first((e) => ((e as HTMLInputElement).checked = !!f.checked)) }),
      el("label", { for: id }, f.label), hints);
  const hook = first((e) => {
    if (f.value !== undefined) (e as HTMLInputElement).value = f.value;
    if (f.autofocus) (e as HTMLElement).focus();
  });
  const control = f.options
    ? full("select", { attrs: present(common), hook }, f.options.map(([v, l]) => el("option", { value: v }, l)))
    : f.type === "textarea"
      ? full("textarea", { attrs: present({ ...common, rows: f.rows ?? 4 }), hook })
      : full("input", { attrs: present({ ...common, type: f.type ?? "text", inputmode: f.inputmode ?? null, list: f.among ? id + "-among" : null }), hook });
  return full("div.field", { key: id }, el("label", { for: id }, f.label), control, f.among && el("datalist", { id: id + "-among" }, f.among.map((v) => el("option", { value: v }))), hints);
}

/** first is a hook that runs when an element is inserted into the document. */
export const first = (f: (e: Element) => void) => ({ insert: (v: VNode) => f(v.elm as Element) });

export type FormData2 = Record<string, string>;

/** namesIn returns the fields in a part of a form. Errors of these fields are shown next to them. */
const namesIn = (v: VNode): string[] => [String(v.data?.attrs?.name ?? ""), ...(v.children ?? []).flatMap((c) => (typeof c === "string" ? [] : namesIn(c)))].filter(Boolean);

/** form shows fields and passes their values to submit. A checked box has the value "on". */
export function form(id: string, fields: (Field | VNode)[], label: string, submit: (values: FormData2, form: HTMLFormElement) => Promise<void>, more: Child[] = [], a: Attrs = {}): VNode {
  const named = fields.flatMap((f) => ("sel" in f ? namesIn(f as VNode) : [(f as Field).name]));
  const on: On = {
    submit: (e: Event) => {
      e.preventDefault();
      const at = e.target as HTMLFormElement;
      const values: FormData2 = {};
      for (const [k, v] of new FormData(at)) if (typeof v === "string") values[k] = values[k] ? values[k] + "," + v : v;
      void run(id, () => submit(values, at)).catch(wrong);
    },
  };
  return full("form", { key: id, attrs: present({ id, "aria-busy": busy.has(id) ? "true" : null, ...a }), on, hook: { destroy: () => clearForm(id) } },
    fields.map((f) => ("sel" in f ? (f as VNode) : field(id, f as Field))), troubleOf(id, named),
    el("div.buttons", null, el("button.main", { type: "submit", disabled: busy.has(id) }, busy.has(id) ? "One moment…" : label), ...more));
}

// --- dialogs of the page; browser dialogs are not used

type Dialog = { title: string; body: () => Child[]; closed?: () => void };
let open: Dialog | null = null;

export function openDialog(d: Dialog) {
  closeDialog();
  open = d;
  changed();
}

export function closeDialog() {
  const was = open;
  open = null;
  if (was) {
    was.closed?.();
    changed();
  }
}

export const dialogOpen = () => open !== null;

/** confirm asks before a step that cannot be undone. */
export function confirm(title: string, text: Child, label: string, act: () => Promise<void>) {
  openDialog({
    title,
    body: () => [el("p", null, text), troubleOf("confirm", []), el("div.buttons", null,
      full("button.danger.final", {
        attrs: { type: "button", disabled: busy.has("confirm") },
        on: { click: () => void run("confirm", async () => (await act(), closeDialog())).catch(wrong) },
      }, label), button("Cancel", closeDialog))],
    closed: () => clearForm("confirm"),
  });
}

export function dialogs(): VNode | null {
  if (!open) return null;
  const d = open;
  return full("dialog", {
    key: "dialog-" + d.title, attrs: { "aria-labelledby": "dialog-title" },
    hook: first((e) => (e as HTMLDialogElement).showModal()),
    on: {
      close: () => open === d && closeDialog(),
      click: (e: MouseEvent) => e.target === e.currentTarget && closeDialog(),
    },
  }, el("div.dialog", null, el("header", null, el("h2", { id: "dialog-title" }, d.title), button(icon("close"), closeDialog, { "aria-label": "Close" }, "button.plain")), ...d.body()));
}

/** save starts the download of a file in the browser. */
export function save(name: string, type: string, ...parts: BlobPart[]) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
