// Light or dark: the system setting, or the user's choice.
import { changed } from "./store";

const kept = "inbox-theme", choices = ["", "light", "dark"];
const labels: Record<string, string> = { "": "Auto", light: "Light", dark: "Dark" };

let chosen = localStorage.getItem(kept) ?? "";
apply();

function apply() {
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}

export const theme = () => labels[chosen] ?? "Auto";

export function cycle() {
  chosen = choices[(choices.indexOf(chosen) + 1) % choices.length];
  localStorage.setItem(kept, chosen);
  apply();
  changed();
}
