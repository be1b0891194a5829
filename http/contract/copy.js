for (const pre of document.querySelectorAll("pre")) {
  const box = document.createElement("div"), button = document.createElement("button");
  box.className = "box";
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
