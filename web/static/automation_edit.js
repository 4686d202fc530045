// The editor of an automation. Form and YAML are two views of one text, which the hub keeps in step; nothing reloads.
import { announce, t } from "./texts.js";

const MAIN = "#main";
let turn = Promise.resolve(); // buttons act one after another: Ctrl+S right behind a button saves what the button did
let busy = 0;
let view = null;
let typed = false;

const form = () => document.getElementById("automation-edit");
const NONCE = form().dataset.nonce; // that of the page that was loaded; what is shown later in its place has others

/** Press one of the form's buttons. */
function press(command) {
  turn = turn.then(() => post(command));
}

/** Post the form, and show what comes back in its place. */
async function post(command) {
  if (!form()) return;
  busy += 1;
  try {
    if (view) form().elements.text.value = view.state.doc.toString();
    const fields = new URLSearchParams([...new FormData(form())].filter(([name]) => name !== "do"));
    fields.set("do", command);
    const answer = await fetch("/automations/edit", { method: "POST", body: fields, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.getElementById("automation-edit")) throw new Error(String(answer.status));
    if (answer.redirected) history.replaceState(null, "", answer.url);
    show(page, command);
  } catch {
    tell(t("The hub cannot be reached right now."));
  } finally {
    busy -= 1;
  }
}

function show(page, command) {
  const main = document.querySelector(MAIN);
  const top = main.scrollTop;
  const open = new Set([...main.querySelectorAll(".step-card > details[open]")].map((each) => each.parentElement.dataset.path));
  view?.destroy();
  view = null;
  main.replaceChildren(...page.querySelector(MAIN).childNodes);
  for (const card of main.querySelectorAll(".step-card")) if (open.has(card.dataset.path)) card.firstElementChild.open = true;
  document.title = page.title;
  main.scrollTop = command === "save" ? 0 : top;
  start();
  const focus = form().dataset.focus;
  const place = focus && [...document.querySelectorAll("[data-path]")].find((each) => each.dataset.path === focus);
  const list = focus && document.getElementById(`f-${focus.replace(/[^\w-]/g, "-")}`);
  const wrong = command === "save" && document.querySelector("[aria-invalid], .step-card > [role=alert]");
  if (wrong) wrong.focus?.() ?? wrong.scrollIntoView({ block: "center" });
  else if (document.getElementById("add-tiles")) chooseTile(document.getElementById("add-tiles"));
  else if (place || list) (firstField(place) || place || list).focus();
  else if (command === "form" || command === "yaml") document.querySelector("[data-switch]").focus();
  announce(document.getElementById("edit-state").textContent);
}

/** Return the first field of a card that was just opened. */
function firstField(card) {
  const fields = card?.querySelectorAll("details[open] .form :is(input, select, textarea):not([type=hidden])") ?? [];
  return [...fields].find((each) => each.checkVisibility());
}

/** Show what can be added, and only what is searched of it. */
function chooseTile(dialog) {
  dialog.close();
  dialog.showModal();
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

async function start() {
  typed = form().dataset.changed === "yes";
  if (form().dataset.as !== "yaml") return;
  const { yamlView } = await import("./yaml_view.js");
  const host = document.getElementById("yaml-editor");
  const area = document.getElementById("yaml-text");
  if (!host || host.dataset.ready === "" || !area) return;
  view = yamlView({
    host, nonce: NONCE, text: area.value,
    name: t("The automation as YAML"), check: problems, save: () => press("save"), changed: () => { typed = true; },
  });
  area.hidden = true;
  host.dataset.ready = "";
}

/** Ask the hub what is wrong with the text. */
async function problems(text) {
  const answer = await fetch("/automations/check", {
    method: "POST",
    body: JSON.stringify({ text }),
    headers: { "Content-Type": "application/json", Accept: "application/json" },
  });
  const found = answer.ok ? (await answer.json()).problems : [];
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
document.addEventListener("input", (event) => { if (form()?.contains(event.target)) typed = true; });
document.addEventListener("change", (event) => { if (event.target.matches("[data-redraw]")) press("kind"); });
document.addEventListener("keydown", (event) => {
  if (!(event.metaKey || event.ctrlKey) || !form()) return;
  const key = event.key.toLowerCase();
  if (key === "s" && !event.shiftKey) {
    event.preventDefault();
    press("save");
  } else if (key === "y" && event.shiftKey) {
    event.preventDefault();
    press(form().dataset.as === "form" ? "yaml" : "form");
  }
});
addEventListener("beforeunload", (event) => { if (typed && !busy) event.preventDefault(); });
start();
