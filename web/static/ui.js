// What the components do by script: menus find their place, text is copied, what changed is counted, the side bar folds.
import { t } from "./texts.js";

const SAVED_MS = 1_200;
const UNDO_MS = 8_000;

/** Say what was done; `undo` is called when that was pressed. */
export function toast(text, undo) {
  const place = document.getElementById("toasts");
  if (!place) return;
  const box = document.createElement("div");
  box.className = "toast";
  box.role = "status";
  const words = document.createElement("span");
  words.className = "grow";
  words.textContent = text;
  box.append(words);
  if (undo) {
    const button = document.createElement("button");
    button.className = "button quiet";
    button.textContent = t("Undo");
    button.addEventListener("click", () => { box.remove(); undo(); });
    box.append(button);
  }
  place.append(box);
  setTimeout(() => box.remove(), UNDO_MS);
}

/** Show for a moment, in the button itself, that it is done. */
export function done(button, text) {
  const before = [...button.childNodes];
  button.classList.add("saved");
  button.textContent = `✓ ${text}`;
  setTimeout(() => { button.classList.remove("saved"); button.replaceChildren(...before); }, SAVED_MS);
}

async function copy(button) {
  const text = button.closest(".code")?.querySelector("pre")?.textContent ?? button.dataset.copy;
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else { // over plain HTTP
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  done(button, t("Copied"));
}

function fold() {
  const root = document.documentElement;
  const folded = root.dataset.side !== "folded";
  if (folded) root.dataset.side = "folded";
  else delete root.dataset.side;
  document.cookie = `homarus_side=${folded ? "folded" : ""}; path=/; max-age=31536000; samesite=strict`;
}

/** Put a menu below its button, or above it where there is no room; only where CSS cannot. */
function place(event) {
  const menu = event.target;
  if (event.newState !== "open" || !menu.matches?.(".menu, .options") || CSS.supports("position-area", "bottom")) return;
  const opener = menu.popoverOpener ?? document.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`);
  if (!opener) return;
  const box = opener.getBoundingClientRect();
  const below = box.bottom + menu.offsetHeight < innerHeight;
  menu.style.position = "fixed";
  menu.style.inset = "auto";
  menu.style.left = `${Math.max(8, Math.min(box.left, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${below ? box.bottom + 4 : Math.max(8, box.top - menu.offsetHeight - 4)}px`;
}

/** Post a form where it stands; what it changes comes by the live socket. A refusal is said, and the form stays. */
async function postInPlace(form, submitter) {
  const buttons = [...form.querySelectorAll("button")];
  const body = new URLSearchParams([...new FormData(form, submitter)]);
  for (const button of buttons) button.disabled = true;
  const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
  if (answer?.ok) return;
  for (const button of buttons) button.disabled = false;
  const told = await answer?.json().catch(() => null);
  toast(told?.error?.message ?? t("The hub cannot be reached right now."));
}

/** Count down what waits for an answer. */
function countDown() {
  for (const place of document.querySelectorAll("[data-until]")) {
    const seconds = Math.max(0, Math.floor((Number(place.dataset.until) - Date.now()) / 1_000));
    const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, String(seconds % 60).padStart(2, "0")];
    const time = hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
    const text = t("{time} left", { time });
    if (place.textContent !== text) place.textContent = text;
  }
}

/** Add another empty row to a list that is being filled. */
function addRow(rows) {
  const next = rows.lastElementChild.cloneNode(true);
  for (const field of next.querySelectorAll("input")) {
    field.value = "";
    field.ariaLabel = field.ariaLabel.replace(/\d+$/, (count) => Number(count) + 1);
  }
  rows.append(next);
}

/** Show the save bar of a form when something in it is not as it was, and how much. */
function watchChanges(form) {
  const bar = form.querySelector(".save-bar");
  const state = () => new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value.name ?? value)]));
  const at = state();
  const look = () => {
    const now = state();
    const changed = [...new Set([...at.keys(), ...now.keys()])].filter((name) => at.getAll(name).join("\0") !== now.getAll(name).join("\0"));
    bar.hidden = !changed.length;
    bar.querySelector("[data-change-count]").textContent = changed.length === 1 ? t("1 change") : t("{count} changes", { count: changed.length });
  };
  form.addEventListener("input", look);
  form.addEventListener("change", look);
  look();
}

/** Go from entry to entry of a menu, a strip of tabs or the sections of a page by the arrow keys; down on its button opens a menu. */
function walk(event) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !event.target.matches?.("a, button")) return;
  const menu = event.key === "ArrowDown" && document.getElementById(event.target.getAttribute("popovertarget") ?? "");
  const opens = menu && menu.matches(".menu");
  const strip = opens ? menu : event.target.closest(".menu:popover-open, .tabs, .segments, .sections");
  if (!strip) return;
  const sign = strip.matches(".menu, .sections") ? { ArrowDown: 1, ArrowUp: -1 } : { ArrowRight: 1, ArrowLeft: -1 };
  if (opens) menu.showPopover({ source: event.target });
  const entries = [...strip.querySelectorAll("a, button:enabled")].filter((each) => each.checkVisibility());
  const at = entries.indexOf(event.target);
  const to = { Home: 0, End: entries.length - 1 }[event.key] ?? (sign[event.key] ? (at + sign[event.key] + entries.length) % entries.length : undefined);
  if (to === undefined) return;
  event.preventDefault();
  entries[opens ? 0 : to]?.focus();
}

const PANEL = ".menu, .sheet:not([popover=manual])";
const STOPS = "a[href], button:enabled, input:enabled:not([type=hidden]), select:enabled, textarea:enabled, summary, [tabindex='0']";

/** The places of a panel where Tab stops, in their order. */
function stops(panel) {
  const picked = (radio) => radio.checked || !panel.querySelector(`input[name="${CSS.escape(radio.name)}"]:checked`);
  return [...panel.querySelectorAll(STOPS)].filter((each) => each.checkVisibility() && (each.type !== "radio" || picked(each)));
}

/** Bring the focus into a menu or a sheet that opens; a finger needs none, and would get a keyboard on its screen. */
function enter({ target, newState }) {
  if (newState !== "open" || !target.matches?.(PANEL) || target.contains(document.activeElement) || matchMedia("(pointer: coarse)").matches) return;
  stops(target)[0]?.focus();
}

/** Keep Tab inside an open menu or sheet, as in a dialog. */
function keep(event) {
  const panel = event.key === "Tab" && event.target.closest?.(":popover-open");
  if (!panel || !panel.matches(PANEL)) return;
  const all = stops(panel);
  if (event.target !== (event.shiftKey ? all[0] : all.at(-1))) return;
  event.preventDefault();
  (event.shiftKey ? all.at(-1) : all[0]).focus();
}

export function start() {
  setInterval(countDown, 1_000);
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-live]") || document.documentElement.dataset.live !== "on") return;
    event.preventDefault();
    postInPlace(event.target, event.submitter);
  });
  document.addEventListener("toggle", place, { capture: true });
  document.addEventListener("toggle", enter, { capture: true });
  document.addEventListener("keydown", walk);
  document.addEventListener("keydown", keep);
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy], [data-dialog], [data-remove]");
    if (!button) return;
    if (button.dataset.copy !== undefined) copy(button);
    else if (button.dataset.dialog) {
      event.preventDefault(); // a link leads where the dialog is open, for those without script
      show(document.getElementById(button.dataset.dialog));
    }
    else button.closest(button.dataset.remove)?.remove();
  });
  for (const name of ["dragover", "drop"]) {
    document.addEventListener(name, (event) => { // anywhere on a form with `data-drop`, which names its field
      const form = event.target.closest?.("form[data-drop]");
      if (!form || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (name === "drop") form.elements[form.dataset.drop].files = event.dataTransfer.files;
    });
  }
  document.addEventListener("input", (event) => {
    const output = event.target.dataset?.output && document.getElementById(event.target.dataset.output);
    const rows = event.target.value && event.target.closest?.(".repeat");
    if (rows && rows.lastElementChild.contains(event.target)) addRow(rows);
    if (output) output.textContent = `${event.target.value} ${output.dataset.unit}`.trim();
  });
  const nonce = document.querySelector("[data-nonce]")?.dataset.nonce; // that of the page that was loaded: what takes its place has others
  if (nonce) document.documentElement.dataset.nonce = nonce;
  document.addEventListener("focusin", (event) => event.target.closest?.("hm-template") && import("./template_field.js"));
  document.addEventListener("change", (event) => event.target.matches?.("[data-submit]") && event.target.form.requestSubmit());
  document.addEventListener("keydown", (event) => {
    if (!(event.metaKey || event.ctrlKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "b") return;
    if (event.target.closest?.(".cm-editor, [contenteditable]")) return;
    event.preventDefault();
    fold();
  });
  const watch = () => document.querySelectorAll("form[data-changes]").forEach(watchChanges);
  if (document.querySelector("hm-pick, hm-duration, [data-fields]")) import("./fields.js").then(watch); // they bring fields of their own
  else watch();
  for (const dialog of document.querySelectorAll("dialog[data-open]")) {
    dialog.close();
    show(dialog);
  }
}

// Where a dialog begins with something to write, one writes at once: its button to close comes first otherwise.
function show(dialog) {
  dialog?.showModal();
  dialog?.querySelector(".body input:is(:not([type]), [type=text], [type=search]), .body textarea")?.focus();
}

// The tab one is on may stand beside the edge of a narrow screen.
for (const tab of document.querySelectorAll(":is(.tabs, .sections) > [aria-current]")) {
  const strip = tab.parentElement.getBoundingClientRect(), at = tab.getBoundingClientRect();
  tab.parentElement.scrollLeft += at.left - strip.left - (strip.width - at.width) / 2;
}
