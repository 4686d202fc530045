// Shortcuts. Single letters are off while one types, and by a switch in the preferences.
import { openPalette, openSheet } from "./palette.js";

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable], .cm-editor");
let pending = 0; // time at which `g` was pressed

export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    const command = event.metaKey || event.ctrlKey;
    if (command && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (command || event.altKey || event.isComposing || typing(event.target) || document.querySelector("dialog[open]")) return;
    if (document.documentElement.dataset.keys !== "on") return;
    single(event);
  });
}

function single(event) {
  if (Date.now() - pending < 1_200) {
    pending = 0;
    const link = document.querySelector(`.side a[data-letter="${CSS.escape(event.key)}"]`);
    if (link) location.assign(link.href);
    return;
  }
  if (event.key === "g") pending = Date.now();
  else if (event.key === "?") openSheet();
  else if (event.key === "/") focusMessage(event);
  else document.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
}

function focusMessage(event) {
  const box = document.getElementById("message");
  if (!box) return;
  event.preventDefault();
  box.focus();
}
