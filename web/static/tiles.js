// Tiles act at once: what is touched is posted, and the state comes back by the live socket. Without script they are forms.
import { t } from "./texts.js";
import { toast } from "./ui.js";

const PRESS_MS = 600;
const REFRESH_MS = 10_000;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches('form[action="/entities/do"]')) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  const tile = form.closest(".tile");
  tile?.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "application/json" } });
    if (response.ok) return;
    toast((await response.json()).error?.message ?? t("That did not work"));
    form.reset();
  } catch {
    toast(t("The hub cannot be reached now."));
    form.reset();
  } finally {
    tile?.removeAttribute("aria-busy");
  }
});

// What was dragged keeps its own value in the browser; the hub's is the true one, but not under the finger.
let held = null;
document.addEventListener("pointerdown", (event) => { held = event.target; });
document.addEventListener("pointerup", () => { held = null; });
new MutationObserver((changes) => {
  for (const { target } of changes) {
    if (target === held || !target.matches("input[data-submit]")) continue;
    target.value = target.defaultValue;
    const output = document.getElementById(target.dataset.output);
    if (output) output.textContent = `${target.value} ${output.dataset.unit}`.trim();
  }
}).observe(document.querySelector("main"), { subtree: true, attributes: true, attributeFilter: ["value"] });

// What a camera sees is fetched again while somebody looks; the picture before stays until the next one is there.
setInterval(() => {
  if (document.hidden) return;
  for (const image of document.querySelectorAll("img[data-refresh]")) {
    const next = new Image();
    next.onload = () => { image.src = next.src; };
    next.src = `${image.src.split("?")[0]}?at=${Date.now()}`;
  }
}, REFRESH_MS);

// A long press, or a right click, opens the device.
function opened(tile) {
  const link = tile?.querySelector("a[href]");
  if (link) location.assign(link.href);
  return Boolean(link);
}
document.addEventListener("contextmenu", (event) => {
  if (opened(event.target.closest?.(".tile"))) event.preventDefault();
});
let pressing = 0; // iPhones tell of no context menu
document.addEventListener("pointerdown", (event) => {
  const tile = event.pointerType === "touch" && !event.target.matches("input") && event.target.closest?.(".tile");
  if (!tile) return;
  pressing = setTimeout(() => {
    if (opened(tile)) document.addEventListener("click", (end) => end.preventDefault(), { capture: true, once: true });
  }, PRESS_MS);
});
for (const name of ["pointerup", "pointercancel", "pointermove"]) document.addEventListener(name, () => clearTimeout(pressing));
