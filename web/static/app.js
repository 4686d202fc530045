// The frame of every page: live updates, palette, shortcuts.
import { live } from "./live.js";
import "./palette.js";
import { listenForKeys } from "./keys.js";

listenForKeys();
if (document.body.classList.contains("frame")) live.start();

// A menu closes when one clicks elsewhere or presses Escape.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
  event.stopImmediatePropagation();
});

document.documentElement.dataset.ready = "";
