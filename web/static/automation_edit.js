// The editor of an automation or a script. Form and YAML are two views of one text, which the hub keeps in step; nothing reloads.
import { live } from "./live.js";
import { announce, t } from "./texts.js";
import { toast } from "./ui.js";

const MAIN = "#main";
const SOON_MS = 400;
const LIVE_MS = 2_000;
const KEPT_STEPS = 100;
let turn = Promise.resolve(); // buttons act one after another: Ctrl+S right behind a button saves what the button did
let busy = 0;
const wide = matchMedia("(min-width: 1100px)"); // where there is room for a panel beside the list
let view = null;
let typed = false; // since the hub was last asked what it changes
let changes = 0;
let past = []; // texts to go back to, the newest last
let future = [];
let now = null; // the text as it is, with all that was typed
let base = null; // and as it is saved

const form = () => document.getElementById("automation-edit");
const NONCE = form().dataset.nonce; // that of the page that was loaded; what is shown later in its place has others

/** Press one of the form's buttons. */
function press(command) {
  turn = turn.then(() => post(command));
  return turn;
}

/** Return what the form holds. */
function fields(command) {
  if (view) form().elements.text.value = view.state.doc.toString();
  const found = new URLSearchParams([...new FormData(form())].filter(([name]) => name !== "do"));
  found.set("do", command);
  return found;
}

/** Ask the hub what the draft is with what was typed, and how its cards stand; the fields stay as they are. */
async function look() {
  if (!form()) return;
  const since = typed;
  typed = false;
  const answer = await fetch(form().action, { method: "POST", body: fields("state"), headers: { Accept: "application/json" } }).catch(() => null);
  const found = answer?.ok && answer.headers.get("Content-Type").includes("json") ? await answer.json() : null;
  if (!form()) return;
  if (!found) { typed = true; return; }
  for (const card of document.querySelectorAll(".step-card")) {
    const { said, badge } = found.cards[card.dataset.path] ?? {};
    if (said) card.querySelector("[data-said]").textContent = said;
    const why = card.querySelector("[data-why]");
    why.textContent = badge?.why ?? "";
    why.hidden = !badge?.why;
    const chip = document.createElement("span");
    chip.className = `chip ${badge?.tone ?? ""}`;
    chip.textContent = badge?.text ?? "";
    card.querySelector("[data-badge]").replaceChildren(...(badge ? [chip] : []));
  }
  step(found.text);
  changes = found.changes;
  const state = document.getElementById("edit-state");
  if (since || !state.matches(".danger, .good")) { // what a button answered stays until something is typed
    state.className = "grow small";
    state.textContent = !changes ? t("No changes.") : changes === 1 ? t("1 change") : t("{count} changes", { count: changes });
  }
  showBar();
}

/** Show the bar while there is something to save, or something wrong. */
function showBar() {
  document.querySelector(".save-bar").hidden = !changes && !typed && !document.querySelector("#edit-state.danger");
}

/** Look again when it is quiet; in the turn of the buttons, so that nothing is shown that was true before. */
let soon = 0;
function lookSoon(wait = SOON_MS) {
  if (soon && wait > SOON_MS) return; // where states change all the time, it still looks now and then
  clearTimeout(soon);
  soon = setTimeout(() => { soon = 0; turn = turn.then(look); }, wait);
}

/** Note another state of the draft, to which one can go back. */
function step(text) {
  if (text === now) return;
  if (now !== null) past = [...past.slice(1 - KEPT_STEPS), now];
  now = text;
  future = [];
  showSteps();
}

function showSteps() {
  for (const button of document.querySelectorAll("[data-undo]")) button.disabled = !(button.dataset.undo === "undo" ? past : future).length;
}

/** Go back to the state before, or forward again to the one after. */
function go(back) {
  turn = turn.then(look).then(async () => {
    const [from, to] = back ? [past, future] : [future, past];
    if (!from.length) return;
    to.push(now);
    now = from.pop();
    await post("show", now);
    announce(back ? t("Undone.") : t("Done again."));
  });
}

/** Post the form, or another text in its place, and show what comes back. */
async function post(command, text) {
  if (!form()) return;
  busy += 1;
  try {
    const body = fields(command);
    if (text !== undefined) {
      for (const name of [...body.keys()]) if (!["id", "as", "base_hash", "do"].includes(name)) body.delete(name);
      body.set("text", text);
    }
    const answer = await fetch(form().action, { method: "POST", body, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.getElementById("automation-edit")) throw new Error(String(answer.status));
    if (answer.redirected) history.replaceState(null, "", answer.url);
    await show(page, command);
    if (text === undefined) step(form().elements.text.value);
    if (/[?&]saved=/.test(answer.redirected && answer.url)) {
      base = form().elements.text.value;
      toast(t("Saved. The change is in force."));
    }
  } catch {
    tell(t("The hub cannot be reached right now."));
  } finally {
    busy -= 1;
  }
}

async function show(page, command) {
  const main = document.querySelector(MAIN);
  const top = main.scrollTop;
  const panel = main.querySelector(".step-card > :popover-open");
  const [open, down] = [panel?.parentElement.dataset.path, panel?.scrollTop];
  const folded = new Set([...main.querySelectorAll(".step-card > details:not([open])")].map((each) => each.parentElement.dataset.path));
  view?.destroy();
  view = null;
  main.replaceChildren(...page.querySelector(MAIN).childNodes);
  document.title = page.title;
  main.scrollTop = command === "save" ? 0 : top;
  for (const fold of main.querySelectorAll(".step-card > details")) fold.open = !folded.has(fold.parentElement.dataset.path);
  if (!await start() && open) showPanel(cardAt(open)?.querySelector(":scope > .sheet"), down);
  await Promise.all([...main.querySelectorAll("hm-pick, hm-duration")].map((each) => each.updateComplete)); // their fields
  const focus = form().dataset.focus;
  const place = focus && cardAt(focus);
  const list = focus && document.getElementById(`f-${focus.replace(/[^\w-]/g, "-")}`);
  const wrong = command === "save" && document.querySelector("[aria-invalid=true], .step-card [role=alert]");
  if (wrong) wrong.focus?.() ?? wrong.scrollIntoView({ block: "center" });
  else if (document.getElementById("add-tiles")) chooseTile(document.getElementById("add-tiles"));
  else if (document.getElementById("run-card")) openDialog(document.getElementById("run-card"));
  else if (/^(up|down|move):/.test(command)) place?.querySelector(".grip").focus();
  else if (command.startsWith("test:") || command.startsWith("run:")) place?.querySelector("[value^='test:']").focus();
  else if (place || list) {
    place?.scrollIntoView({ block: "nearest" });
    (firstField(place) || place || list).focus();
  }
  else if (command === "form" || command === "yaml") document.querySelector("[data-switch]").focus();
  announce(document.getElementById("edit-state").textContent);
}

const cardAt = (path) => [...document.querySelectorAll(".step-card")].find((each) => each.dataset.path === path);
const panels = () => [...document.querySelectorAll(".step-card > .sheet")];

/** Make the fields of each card a panel, and show that which the hub opened; return it. */
function setUpPanels() {
  const given = panels().filter((panel) => panel.popover === null);
  placePanels();
  showPanel(given[0]);
  return given[0];
}

/** Panels stand beside the list where there is room; elsewhere they are sheets, which close at a touch beside them. */
function placePanels() {
  for (const panel of panels()) panel.popover = wide.matches ? "manual" : "auto";
}

function showPanel(panel, top = 0) {
  if (!panel) return;
  panel.showPopover();
  for (const motion of panel.getAnimations()) motion.finish();
  panel.scrollTop = top;
}

/** Return the first field of a card whose panel is open. */
function firstField(card) {
  const fields = card?.querySelectorAll(":scope > .sheet .form :is(input, select, textarea):not([type=hidden])") ?? [];
  return [...fields].find((each) => each.checkVisibility());
}

function openDialog(dialog) {
  dialog.close();
  dialog.showModal();
}

/** Show what can be added, and only what is searched of it. */
function chooseTile(dialog) {
  openDialog(dialog);
  const search = document.getElementById("tile-search");
  const tiles = [...dialog.querySelectorAll(".kinds > button")];
  search.focus();
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const tile of tiles) {
      const text = `${tile.textContent} ${tile.value}`.toLowerCase();
      tile.hidden = words.length ? !words.every((word) => text.includes(word)) : tile.dataset.rare !== undefined;
    }
    for (const group of dialog.querySelectorAll("[data-tiles]")) group.hidden = !group.querySelector("button:not([hidden])");
    document.getElementById("tile-none").hidden = tiles.some((tile) => !tile.hidden);
  });
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") tiles.find((tile) => !tile.hidden)?.click(); });
}

function tell(text) {
  const place = document.getElementById("edit-state");
  place.className = "grow small danger";
  place.textContent = text;
}

/** Give the boxes for YAML that are shown the editor of the whole file; what is typed there is in the box as well. */
async function dressYaml(root) {
  const boxes = [...root.querySelectorAll("textarea[data-language=yaml]:not([hidden])")].filter((each) => each.checkVisibility());
  if (!boxes.length) return;
  const { yamlView } = await import("./yaml_view.js");
  for (const box of boxes) {
    if (!box.isConnected || box.hidden) continue;
    const focused = box === document.activeElement;
    const [label, card] = [box.labels[0], box.closest(".step-card")];
    const what = card && box.name === card.dataset.path ? card.dataset.what : "";
    const host = document.createElement("div");
    box.after(host);
    const own = yamlView({
      host, nonce: NONCE, text: box.value, name: label?.textContent.trim() ?? "YAML",
      check: (text) => askProblems({ text, what }), save: () => press("save"),
      changed: (text) => { box.value = text; noteTyped(); }, told: box.getAttribute("aria-describedby"),
    });
    label?.addEventListener("click", () => own.focus());
    box.hidden = true;
    if (focused) own.focus();
  }
}

async function askProblems(body) {
  const answer = await fetch(form().dataset.check, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", Accept: "application/json" },
  });
  return answer.ok ? (await answer.json()).problems : [];
}

async function start() {
  typed = false;
  changes = Number(form().dataset.count);
  showBar();
  const panel = setUpPanels();
  for (const each of document.querySelectorAll("[data-scripted], [data-plainly]")) each.hidden = each.dataset.plainly !== undefined;
  showSteps();
  if (form().dataset.as !== "yaml") return panel;
  const { yamlView } = await import("./yaml_view.js");
  const host = document.getElementById("yaml-editor");
  const area = document.getElementById("yaml-text");
  if (!host || host.dataset.ready === "" || !area) return null;
  view = yamlView({
    host, nonce: NONCE, text: area.value,
    name: form().dataset.yaml, check: problems, save: () => press("save"), changed: noteTyped,
  });
  area.hidden = true;
  host.dataset.ready = "";
  return null;
}

function noteTyped() {
  typed = true;
  showBar();
  lookSoon();
}

/** Ask the hub what is wrong with the text. */
async function problems(text) {
  const found = await askProblems({ text });
  const list = document.getElementById("problems");
  list.replaceChildren(...found.map((problem) => {
    const item = document.createElement("li");
    item.textContent = `${problem.line}: ${problem.path ? `${problem.path}: ` : ""}${problem.message}`;
    return item;
  }));
  list.hidden = found.length === 0;
  return found;
}

document.addEventListener("submit", (event) => {
  if (event.target !== form()) return;
  event.preventDefault();
  press(event.submitter?.value || "save");
});
document.addEventListener("input", (event) => { if (form()?.contains(event.target) && form().dataset.as === "form") noteTyped(); });
document.addEventListener("change", (event) => {
  if (!form()?.contains(event.target)) return;
  if (event.target.matches("[data-redraw], [name^='fields.'][name$=':key']")) press("kind"); // what it is called is part of all names
  else lookSoon();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-undo]");
  if (button) go(button.dataset.undo === "undo");
  if (event.target.closest?.("[data-leave]")) typed = changes = false;
  if (!event.target.closest?.("[data-discard]")) return;
  event.preventDefault();
  const text = form().elements.id.value ? base : "";
  turn = turn.then(look).then(() => post("show", text)).then(() => step(text));
});
document.addEventListener("beforetoggle", (event) => {
  if (event.newState !== "open" || !event.target.matches?.(".step-card > .sheet")) return;
  for (const panel of panels()) if (panel !== event.target && panel.popover === "manual") panel.hidePopover();
}, true);
document.addEventListener("toggle", (event) => {
  if (event.newState === "open" && form()?.contains(event.target)) dressYaml(event.target);
  if (!event.target.matches?.(".step-card > .sheet")) return;
  const row = event.target.parentElement.querySelector(":scope > .line");
  if (event.newState === "open" && document.activeElement === row) event.target.focus();
  else if (event.newState === "closed" && (event.target.contains(document.activeElement) || document.activeElement === document.body)) row.focus();
}, true);
document.addEventListener("keydown", (event) => {
  const panel = event.key === "Escape" && !event.defaultPrevented && document.querySelector(".step-card > :popover-open");
  if (panel?.popover === "manual" && !document.querySelector(":modal, .menu:popover-open")) panel.hidePopover();
});
wide.addEventListener("change", placePanels);
live.on("cards", () => { if (document.visibilityState === "visible" && document.querySelector("[data-badge] .chip")) lookSoon(LIVE_MS); });

// A card is dragged by its handle among its neighbours, and stays where it is let go.
document.addEventListener("pointerdown", (event) => {
  const grip = event.target.closest?.("[data-drag]");
  if (!grip || event.button) return;
  event.preventDefault();
  grip.focus();
  const card = grip.closest(".step-card");
  const places = () => [...card.parentElement.children];
  const before = places().indexOf(card);
  const move = ({ clientY }) => {
    const [above, below] = [card.previousElementSibling, card.nextElementSibling];
    const middle = (each) => { const box = each.getBoundingClientRect(); return box.top + Math.min(box.height, card.offsetHeight) / 2; };
    if (above && clientY < middle(above)) above.before(card);
    else if (below && clientY > middle(below)) below.after(card);
  };
  const end = (stop) => {
    removeEventListener("pointermove", move);
    const at = places().indexOf(card);
    if (stop.type === "pointerup" && at !== before) press(`move:${card.dataset.path}:${at}`);
    else if (at !== before) card.parentElement.insertBefore(card, places()[before + (before > at ? 1 : 0)] ?? null);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", end, { once: true });
  addEventListener("pointercancel", end, { once: true });
});
document.addEventListener("keydown", (event) => {
  const card = event.target.closest?.(".step-card");
  if (!card || !event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key) || !event.target.matches(".grip, .step-card > .line, .step-card")) return;
  event.preventDefault();
  const up = event.key === "ArrowUp";
  if (up ? card.previousElementSibling : card.nextElementSibling) press(`${up ? "up" : "down"}:${card.dataset.path}`);
});
document.addEventListener("keydown", (event) => {
  if (!(event.metaKey || event.ctrlKey) || !form()) return;
  const key = event.key.toLowerCase();
  const typing = event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, .cm-editor");
  if ((key === "z" || key === "y") && !typing && !(key === "y" && event.shiftKey)) {
    event.preventDefault();
    go(key === "z" && !event.shiftKey);
  } else if (key === "s" && !event.shiftKey) {
    event.preventDefault();
    press("save");
  } else if (key === "y" && event.shiftKey) {
    event.preventDefault();
    press(form().dataset.as === "form" ? "yaml" : "form");
  }
});
if (!form().elements.id.value && matchMedia("(pointer: fine)").matches) document.getElementById("f-alias")?.focus();
addEventListener("beforeunload", (event) => { if ((typed || changes) && !busy) event.preventDefault(); });
start();
base = now = form().elements.text.value;
