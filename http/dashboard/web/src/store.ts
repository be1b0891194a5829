// The one store: an action changes the state, the state makes the view, the view is patched
// into the page. It knows no action and no view.
import { attributesModule, eventListenersModule, init, propsModule, styleModule, type VNode } from "snabbdom";

const patch = init([attributesModule, propsModule, styleModule, eventListenersModule]);

let seen: VNode | Element | null = null;
let view: (() => VNode) | null = null;
let asked = false;
const afterwards: (() => void)[] = [];

/** show draws the view in the place of an element, and again after each change. */
export function show(at: Element, make: () => VNode) {
  seen = at;
  view = make;
  draw();
}

/** changed says that the state is another: all changes of one moment are drawn at once. */
export function changed(then?: () => void) {
  if (then) afterwards.push(then);
  if (asked) return;
  asked = true;
  // A hidden tab draws no frames, yet its title and its state must go on.
  if (document.hidden) setTimeout(draw, 50);
  else requestAnimationFrame(draw);
}

function draw() {
  asked = false;
  if (seen && view) seen = patch(seen, view());
  for (const f of afterwards.splice(0)) f();
}

// What belongs to one sign-in: each subject says how its part of the state begins, and
// starts anew when somebody signs out. So nothing of one account is seen by the next.
const parts: (() => void)[] = [];

/** part keeps a subject's state; it becomes what `fresh` makes at each sign-out. */
export function part<T extends object>(fresh: () => T): T {
  const s = fresh();
  parts.push(() => {
    for (const k of Object.keys(s)) delete (s as Record<string, unknown>)[k];
    Object.assign(s, fresh());
  });
  return s;
}

/** forgetting is for what a subject keeps beside its state. */
export const forgetting = (f: () => void) => void parts.push(f);

export function forgetAll() {
  for (const f of parts) f();
}
