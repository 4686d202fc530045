// The frame of every page: live updates, palette, shortcuts.
import { live } from "./live.js";
import { openPalette } from "./palette.js";
import { listenForKeys } from "./keys.js";
import { start } from "./ui.js";

listenForKeys();
start();
if (document.body.classList.contains("shell")) {
  live.start();
  try {
    if (localStorage.getItem("homarus:push")) import("./push.js").then(({ renew }) => renew()).catch(() => {});
  } catch { /* a browser that stores nothing has no subscription either */ }
}
for (const button of document.querySelectorAll("[data-palette]")) button.addEventListener("click", openPalette);

document.documentElement.dataset.ready = "";
