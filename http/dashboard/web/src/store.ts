// The only store: an action changes the state, the view is computed from the state, and the view is
// patched into the page. This module knows no action and no view.
import { attributesModule, eventListenersModule, init, propsModule, styleModule, type VNode } from "snabbdom";

const patch = init([attributesModule, propsModule, styleModule, eventListenersModule]);

let seen: VNode | Element | null = null;
let view: (() => VNode) | null = null;
let asked = false;
const afterwards: (() => void)[] = [];

/** show renders the view in place of an element, and again after each change. */
export function show(at: Element, make: () => VNode) {
  seen = at;
  view = make;
  draw();
}

/** changed says that the state changed. All changes of one frame are rendered together. */
export function changed(then?: () => void) {
  if (then) afterwards.push(then);
  if (asked) return;
  asked = true;
  // A hidden tab renders no frames, but its title and its state must be updated.
  if (document.hidden) setTimeout(draw, 50);
  else requestAnimationFrame(draw);
}

function draw() {
  asked = false;
  if (seen && view) seen = patch(seen, view());
  for (const f of afterwards.splice(0)) f();
}

// State that belongs to one sign-in: each module says how its part of the state starts, and all
// parts are reset at sign-out. So the next account sees nothing of the previous one.
const parts: (() => void)[] = [];

/** part holds the state of a module. At each sign-out it is reset to what `fresh` returns. */
export function part<T extends object>(fresh: () => T): T {
  const s = fresh();
  parts.push(() => {
    for (const k of Object.keys(s)) delete (s as Record<string, unknown>)[k];
    Object.assign(s, fresh());
  });
  return s;
}

/** forgetting registers what a module must clear in addition to its state. */
export const forgetting = (f: () => void) => void parts.push(f);

export function forgetAll() {
  for (const f of parts) f();
}
