// Events as they happen: one stream per tab, resumed where it broke. If streams do not get through,
// long polls replace them. A tab that is hidden for long receives nothing.
import * as api from "./api";
import { changed } from "./store";
import type { Happening } from "./wire";

type Listener = { happened: (e: Happening) => void; gap: () => void };

let stop: AbortController | null = null;
let last = ""; // cursor after the last processed event
let broken = 0; // consecutive streams that brought nothing
let since = 0; // when streams were given up
let hidden = 0;
/** connected is shown as the small light in the corner. */
export let connected = false;

const hiddenFor = 5 * 60_000, greeting = 10_000, silence = 45_000, tries = 3, again = 10 * 60_000;

export function start(l: Listener) {
  end();
  last = "";
  broken = 0;
  const mine = (stop = new AbortController());
  void follow(l, mine.signal);
  document.onvisibilitychange = () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = window.setTimeout(() => stop?.abort(), hiddenFor);
    else if (stop?.signal.aborted) {
      stop = new AbortController();
      void follow(l, stop.signal);
    }
  };
}

export function end() {
  stop?.abort();
  stop = null;
  clearTimeout(hidden);
  document.onvisibilitychange = null;
  connected = false;
}

async function follow(l: Listener, signal: AbortSignal) {
  for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 15_000)) {
    if (broken >= tries && Date.now() - since > again) broken = tries - 1; // whatever blocked streams may be gone
    try {
      if (broken >= tries) await poll(l, signal);
      else await stream(l, signal);
      wait = 500;
    } catch (e) {
      if (e instanceof api.Failure && e.status === 422) {
        last = ""; // the cursor is older than the stored events: start now, and reload everything
        l.gap();
      } else if (!(e instanceof api.Failure) && !(e instanceof api.Left) && !cut(e)) throw e;
    }
    light(false);
    if (!signal.aborted) await new Promise((done) => setTimeout(done, wait * (0.75 + Math.random() / 2)));
  }
}

/**
 * cut recognizes the errors of a read on a connection that broke, or that was aborted because
 * nothing arrived.
 */
const cut = (e: unknown) => e instanceof TypeError || (e instanceof DOMException && (e.name === "AbortError" || e.name === "NetworkError"));

function light(on: boolean) {
  if (connected === on) return;
  connected = on;
  changed();
}

async function stream(l: Listener, signal: AbortSignal) {
  const quiet = new AbortController();
  let watch = 0;
  const alive = (ms = silence) => {
    clearTimeout(watch);
    watch = window.setTimeout(() => quiet.abort(), ms);
  };
  alive(greeting);
  if (++broken === tries) since = Date.now();
  try {
    const r = await api.ask("GET", "/api/v1/events", undefined, {
      signal: AbortSignal.any([signal, quiet.signal]), headers: { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) },
    });
    if (!last) l.gap(); // events between the first load and now were missed
    const from = r.body!.pipeThrough(new TextDecoderStream()).getReader();
    light(true);
    let text = "";
    for (;;) {
      const { value, done } = await from.read();
      if (done) return;
      alive();
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop()!;
      for (const b of blocks) take(b, l);
      if (last) broken = 0;
    }
  } finally {
    clearTimeout(watch);
  }
}

function take(block: string, l: Listener) {
  let data = "", id = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id:")) id = line.slice(3).trim();
    else if (line.startsWith("data:")) data += line.slice(5).trim();
  }
  if (data) l.happened(JSON.parse(data) as Happening);
  if (id) last = id;
}

async function poll(l: Listener, signal: AbortSignal) {
  const r = await api.get<{ events: Happening[]; next: string }>("/api/v1/events" + api.query({ after: last || "now", wait: last ? 25 : 0 }), { signal });
  if (!last) l.gap();
  light(true);
  for (const e of r.events) l.happened(e);
  last = r.next;
}
