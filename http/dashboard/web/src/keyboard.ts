// Keyboard shortcuts. Each action is also a button or a link.
import * as mails from "./mail";
import * as place from "./place";
import * as reader from "./reader";
import { signedIn } from "./session";
import { dialogOpen, el, openDialog } from "./ui";

type Wiring = { sections: (readonly [string, place.View])[]; compose: () => void };

export function listen(w: Wiring) {
  let went = 0;
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !signedIn() || e.defaultPrevented) return;
    const at = e.target as HTMLElement, typing = /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
    if (e.key === "Escape" && !dialogOpen()) {
      if (typing) at.blur();
      else back();
      return;
    }
    if (typing || dialogOpen()) return;
    if (Date.now() - went < 1500) {
      went = 0;
      const to = w.sections.find(([k]) => k === e.key);
      if (to) {
        e.preventDefault();
        return place.go(place.to(to[1]));
      }
    }
    const act = actions(w)[e.key];
    if (e.key === "g") went = Date.now();
    else if (act) {
      e.preventDefault();
      act();
    } else if (at.getAttribute("role") === "tab" && (e.key === "ArrowRight" || e.key === "ArrowLeft")) {
      const tabs = [...document.querySelectorAll<HTMLElement>('[role="tab"]')], i = tabs.indexOf(at) + (e.key === "ArrowRight" ? 1 : -1);
      tabs[(i + tabs.length) % tabs.length]?.focus();
    }
  });
}

function actions(w: Wiring): Record<string, () => void> {
  const inMail = place.here.view === "mail" || place.here.view === "all";
  return {
    "?": help, c: w.compose,
    ...(inMail ? { j: () => mails.step(1), k: () => mails.step(-1), "/": () => document.getElementById("search")?.focus(), o: () => mails.step(0) } : {}),
    ...(inMail && reader.open.mail ? { r: reader.reply, u: () => void reader.unread(), "#": reader.remove, y: reader.copyCode } : {}),
  };
}

function back() {
  const { here } = place;
  if (here.id) place.go(here.view === "all" ? place.to("all") : place.to("mail", here.addr));
  else if (here.view === "compose") history.back();
}

const keys: [string, string][] = [
  ["j, k", "Next and previous message"], ["Enter", "Open the focused item"], ["Esc", "Back to the list"], ["r", "Reply"], ["u", "Mark as read or unread"],
  ["y", "Copy the code"], ["#", "Delete"], ["c", "New message"], ["/", "Search"], ["g then i", "Inboxes"], ["g then s", "Sent"], ["g then c", "Calendar"],
  ["g then w", "Webhooks"], ["g then k", "API keys"], ["g then d", "Domains"], ["g then a", "Account"], ["g then t", "Start here"], ["?", "This help"],
];

function help() {
  openDialog({
    title: "Keyboard shortcuts",
    body: () => [el("table.keys", null, el("tbody", null, keys.map(([k, what]) => el("tr", null, el("th", { scope: "row" }, el("kbd", null, k)), el("td", null, what)))))],
  });
}
