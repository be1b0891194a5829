// The current place. Places are stored in the URL fragment, so that Back, reload and bookmarks
// work, and no server ever sees them.

export const views = ["mail", "all", "sent", "compose", "calendar", "webhooks", "keys", "domains", "account", "start", "signin", "signup", "reset"] as const;
export type View = (typeof views)[number];
export type Place = { view: View; addr: string; id: number; tab: string };

export const nowhere: Place = { view: "mail", addr: "", id: 0, tab: "" };

export function read(hash: string): Place {
  const [view = "", addr = "", id = "", tab = ""] = hash.replace(/^#\/?/, "").split("/").map(decoded);
  if (!(views as readonly string[]).includes(view)) return nowhere;
  return { view: view as View, addr: addr.toLowerCase(), id: /^\d{1,15}$/.test(id) ? Number(id) : 0, tab };
}

function decoded(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return "";
  }
}

/** to is the URL fragment of a place: to("mail", addr, 7). */
export function to(view: View, ...rest: (string | number)[]): string {
  return "#/" + [view, ...rest].map((s) => encodeURIComponent(String(s)).replace(/%40/g, "@")).join("/");
}

export function go(address: string, replace = false) {
  if (location.hash === address) dispatchEvent(new HashChangeEvent("hashchange"));
  else if (replace) location.replace(address);
  else location.hash = address;
}

/** stand sets the place without navigation, so nothing is opened or closed. */
export function stand(address: string) {
  history.replaceState(null, "", address);
  arrive();
}

/** here is the current place. */
export let here: Place = nowhere;
export function arrive() {
  here = read(location.hash);
}
