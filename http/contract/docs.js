for (const pre of document.querySelectorAll("pre")) {
  const box = document.createElement("div"), button = document.createElement("button");
  box.className = `box ${pre.className}`; // with its language, which may be hidden
  button.type = "button";
  button.textContent = "Copy";
  pre.replaceWith(box);
  box.append(pre, button);
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(pre); // no clipboard without HTTPS: it is one key press then
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
}

const main = document.querySelector("main"), nav = document.querySelector("nav");
const links = new Map([...nav.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
const headings = [...main.querySelectorAll("[id]")].filter((one) => links.has(one.id));

// The search hides what does not contain all words from the contents.
const field = document.createElement("input");
field.type = "search";
field.placeholder = "Search (press /)";
field.ariaLabel = "Search calls and objects";
nav.prepend(field);
let texts;
field.oninput = () => {
  texts ??= new Map([...nav.querySelectorAll("li")].map((row) => [row, document.getElementById(row.firstChild.hash.slice(1)).closest("section").textContent.toLowerCase()]));
  const words = field.value.toLowerCase().split(" ").filter(Boolean);
  nav.classList.toggle("searching", words.length > 0); // on both surfaces
  for (const [row, text] of texts) row.hidden = !words.every((word) => text.includes(word));
  for (const list of nav.querySelectorAll("ul")) list.hidden = list.previousElementSibling.hidden = !list.querySelector("li:not([hidden])");
};
field.onkeydown = (event) => {
  if (event.key === "Enter") nav.querySelector("li:not([hidden]) a")?.click();
};
document.onkeydown = (event) => {
  if (event.key !== "/" || event.target === field || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
};

// The entry of the section in view is marked: of the last heading above a third of the window.
const mark = () => {
  const link = links.get(headings.findLast((one) => one.offsetParent && one.getBoundingClientRect().top < innerHeight / 3)?.id);
  if (link?.ariaCurrent) return;
  nav.querySelector("[aria-current]")?.removeAttribute("aria-current");
  link?.setAttribute("aria-current", "true");
  const entry = link?.getBoundingClientRect(), list = nav.getBoundingClientRect();
  if (entry && nav.scrollHeight > nav.clientHeight && (entry.top < list.top || entry.bottom > list.bottom)) nav.scrollTop += entry.top - list.top - list.height / 2;
};
document.addEventListener("scroll", mark, { passive: true });

// A link to a call of the other surface shows that surface.
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1)), surface = target?.closest(".agent, .session")?.className;
  if (surface && !document.getElementById("show-both").checked) document.getElementById(`show-${surface}`).checked = true;
  target?.scrollIntoView();
  mark();
};
addEventListener("hashchange", reveal);
document.querySelector(".switches").onchange = () => { // what is above becomes longer or shorter
  document.getElementById(nav.querySelector("[aria-current]")?.hash.slice(1))?.scrollIntoView();
  mark();
};
reveal();
