// Long lists: pages are fetched when needed, and only the visible rows are in the document.
import type { VNode } from "snabbdom";
import { Failure, Left } from "./api";
import { changed, forgetting } from "./store";
import { button, el, failed, full, loading, type Child } from "./ui";

/**
 * Paged is a list whose pages are fetched one by one. next is the cursor of the next page, null at
 * the end.
 */
export type Paged<T> = { items: T[]; next: string | null; state: "new" | "loading" | "ready" | "failed"; error: string; turn: number };

export const paged = <T>(): Paged<T> => ({ items: [], next: null, state: "new", error: "", turn: 0 });

export type Fetch<T> = (cursor: string | null) => Promise<{ items: T[]; next: string | null }>;

/** reload fetches the first page. The old rows stay visible until it arrives. */
export async function reload<T>(p: Paged<T>, fetch: Fetch<T>, keep = false) {
  if (!keep) {
    p.items = [];
    p.next = null;
  }
  await take(p, fetch, null, (items) => items);
}

/** more fetches the next page, if there is one and no request is in progress. */
export async function more<T>(p: Paged<T>, fetch: Fetch<T>) {
  if (p.next !== null && p.state === "ready") await take(p, fetch, p.next, (items) => [...p.items, ...items]);
}

async function take<T>(p: Paged<T>, fetch: Fetch<T>, cursor: string | null, join: (items: T[]) => T[]) {
  const turn = ++p.turn;
  p.state = "loading";
  changed();
  try {
    const got = await fetch(cursor);
    if (turn !== p.turn) return;
    p.items = join(got.items);
    p.next = got.next;
    p.state = "ready";
  } catch (e) {
    if (turn !== p.turn || e instanceof Left) return;
    if (!(e instanceof Failure)) throw e;
    p.state = "failed";
    p.error = e.message;
  } finally {
    changed();
  }
}

const tops = new Map<string, number>(), heights = new Map<string, number>();
const spare = 8;

forgetting(() => (tops.clear(), heights.clear()));

export type Listing<T> = {
  id: string; label: string; height: number; key: (x: T) => string; row: (x: T, i: number) => Child[]; current?: (x: T) => boolean;
  what: string; empty: VNode; again: () => void; more: () => void;
};

/** windowed shows a list in its own scrolling box. All rows have the same height. */
export function windowed<T>(p: Paged<T>, l: Listing<T>): VNode {
  if (!p.items.length) {
    if (p.state === "failed") return failed(p.error, l.again);
    if (p.state !== "ready") return loading(l.what);
    return l.empty;
  }
  const top = tops.get(l.id) ?? 0, height = heights.get(l.id) ?? 900;
  const from = Math.max(0, Math.floor(top / l.height) - spare), to = Math.min(p.items.length, Math.ceil((top + height) / l.height) + spare);
  if (to > p.items.length - 30 && p.next !== null && p.state === "ready") queueMicrotask(l.more);
  const see = (e: HTMLElement) => {
    tops.set(l.id, e.scrollTop);
    heights.set(l.id, e.clientHeight);
    changed();
  };
  const rows = p.items.slice(from, to).map((x, i) =>
    full("li", {
      key: l.key(x), style: { top: (from + i) * l.height + "px", height: l.height + "px" },
      attrs: { "aria-setsize": p.next === null ? p.items.length : -1, "aria-posinset": from + i + 1, ...(l.current?.(x) ? { class: "current" } : {}) },
    }, l.row(x, from + i)));
  return full("div.window", {
    key: l.id, attrs: { tabindex: -1, "data-list": l.id },
    on: { scroll: (e: Event) => see(e.target as HTMLElement) },
    hook: {
      insert: (v) => {
        const e = v.elm as HTMLElement;
        e.scrollTop = tops.get(l.id) ?? 0;
        const o = new ResizeObserver(() => see(e));
        o.observe(e);
        watchers.set(e, o);
      },
      destroy: (v) => watchers.get(v.elm as Element)?.disconnect(),
    },
  }, full("ul.rows", { style: { height: p.items.length * l.height + "px" }, attrs: { "aria-label": l.label } }, rows),
    p.state === "failed" && el("div.tail", null, el("p.bad", null, p.error), button("Try again", l.more)));
}

const watchers = new WeakMap<Element, ResizeObserver>();

/** hold keeps the visible rows in place when n rows are inserted above them. */
export function hold(id: string, rows: number, height: number) {
  const top = tops.get(id) ?? 0;
  if (top <= 0) return;
  tops.set(id, top + rows * height);
  changed(() => {
    const e = document.querySelector(`[data-list="${CSS.escape(id)}"]`);
    if (e) e.scrollTop = top + rows * height;
  });
}

/** reveal scrolls a row into view. */
export function reveal(id: string, i: number, height: number) {
  const e = document.querySelector(`[data-list="${CSS.escape(id)}"]`);
  if (!e || i < 0) return;
  if (i * height < e.scrollTop) e.scrollTop = i * height;
  else if ((i + 1) * height > e.scrollTop + e.clientHeight) e.scrollTop = (i + 1) * height - e.clientHeight;
}

export function forgetScroll(id: string) {
  tops.delete(id);
}
