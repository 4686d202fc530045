// The YAML editor. Errors and completions come from the hub: its schemas are the only source of truth.
import { live } from "./live.js";
import { t } from "./texts.js";
import { EditorView, forceLinting, offset, yamlView } from "./yaml_view.js";

const form = document.getElementById("config-form");
const area = document.getElementById("config-text");
const host = document.getElementById("config-editor");
const state = document.getElementById("config-state");
const list = document.getElementById("problems");
const file = form.elements.file.value;
const DRAFT = `homarus:config:${file}`;
const original = area.value;
let base = form.elements.base_hash.value;
let saved = original;

async function ask(path, body) {
  const response = await fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", Accept: "application/json" },
  });
  const answer = await response.json().catch(() => ({}));
  return { ok: response.ok, status: response.status, body: answer.error || answer };
}

async function check(text) {
  const answer = await ask("/config/check", { file, text });
  if (!answer.ok) { tell(answer.body.message, "danger"); return []; }
  showProblems(answer.body.problems);
  host.dataset.checked = String(Number(host.dataset.checked || 0) + 1);
  return answer.body.problems.filter((problem) => problem.file === file);
}

function showProblems(problems) {
  list.replaceChildren(...problems.map((problem) => {
    const item = document.createElement("li");
    const lead = document.createElement("div");
    lead.className = "lead";
    const link = document.createElement("a");
    link.href = `?file=${encodeURIComponent(problem.file)}#L${problem.line}`;
    link.className = problem.severity === "warning" ? "warn" : "danger";
    link.textContent = problem.message;
    link.addEventListener("click", (event) => {
      if (problem.file !== file) return;
      event.preventDefault();
      show(problem);
    });
    const where = document.createElement("small");
    where.textContent = `${problem.file}:${problem.line}${problem.hint ? ` · ${problem.hint}` : ""}`;
    lead.append(link, where);
    item.append(lead);
    return item;
  }));
  list.parentElement.hidden = problems.length === 0;
}

function show(problem) {
  const at = offset(view.state.doc, problem.line, problem.column);
  view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  view.focus();
}

async function complete(context) {
  const word = context.matchBefore(/[\w.!-]*/);
  if (!context.explicit && !word?.text) return null;
  const line = context.state.doc.lineAt(context.pos);
  let answer;
  try {
    answer = await ask("/config/complete", {
      file, text: context.state.doc.toString(), line: line.number, column: context.pos - line.from + 1,
    });
  } catch { return null; }
  if (!answer.ok || context.aborted || !answer.body.options.length) return null;
  const kinds = { key: "property", value: "constant", tag: "keyword", secret: "variable" };
  const options = answer.body.options.map(({ label, kind, insert, description }) => ({
    label, apply: insert, type: kinds[kind], info: description || undefined,
  }));
  return { from: word ? word.from : context.pos, options, validFor: /^[\w.-]*$/ };
}

function tell(message, kind = "") {
  state.className = kind;
  state.replaceChildren(message || "");
}

function keepDraft(text) {
  try {
    if (text === saved) localStorage.removeItem(DRAFT);
    else localStorage.setItem(DRAFT, JSON.stringify({ text, base }));
  } catch { /* without a store the draft lives as long as the page */ }
  form.elements.save.disabled = text === saved;
}

function save() {
  store(base);
}

async function store(against, anyway) {
  const text = view.state.doc.toString();
  tell(t("Saving…"));
  let answer;
  try { answer = await ask("/config/save", { file, text, base_hash: against, ...(anyway && { anyway: "yes" }) }); }
  catch { tell(t("The hub cannot be reached right now. Your text is kept in this browser."), "danger"); return; }
  if (answer.status === 409) { conflict(answer.body); return; }
  if (answer.body.refused) { refused(answer.body.message); return; }
  if (!answer.ok) { tell(`${answer.body.message || answer.status} ${t("Your text is kept in this browser.")}`, "danger"); return; }
  base = answer.body.hash;
  saved = text;
  keepDraft(view.state.doc.toString());
  tell(answer.body.message, answer.body.valid ? "good" : "warn");
  forceLinting(view);
}

function refused(message) {
  const anyway = Object.assign(document.createElement("button"), { type: "button", className: "button", textContent: t("Save anyway") });
  anyway.addEventListener("click", () => store(base, true));
  tell(`${message} `, "danger");
  state.append(anyway);
}

function conflict(body) {
  const mine = document.createElement("button");
  mine.type = "button";
  mine.className = "button";
  mine.textContent = t("Overwrite with mine");
  mine.addEventListener("click", () => store(body.details?.hash));
  const theirs = document.createElement("button");
  theirs.type = "button";
  theirs.className = "button danger";
  theirs.textContent = t("Discard mine and load the file");
  theirs.addEventListener("click", () => { localStorage.removeItem(DRAFT); location.reload(); });
  tell(`${t("The file changed meanwhile. Nothing was saved; your text is still here.")} `, "danger");
  state.append(mine, " ", theirs);
}

function startText() {
  try {
    const draft = JSON.parse(localStorage.getItem(DRAFT));
    if (!draft || draft.text === original) return original;
    const drop = document.createElement("button");
    drop.type = "button";
    drop.className = "button";
    drop.textContent = t("Discard");
    drop.addEventListener("click", () => { localStorage.removeItem(DRAFT); location.reload(); });
    tell(`${t("This is your unsaved draft.")} `, "warn");
    state.append(drop);
    base = draft.base; // saving against what the draft was made from finds a change made meanwhile
    return draft.text;
  } catch { return original; }
}

const view = yamlView({
  host, nonce: host.dataset.nonce, text: startText(), name: t("Text of {file}", { file }), check, save, changed: keepDraft, complete,
});
area.hidden = true;
area.required = false;
form.addEventListener("submit", (event) => { event.preventDefault(); save(); });
document.addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "s") { event.preventDefault(); if (!view.hasFocus) save(); }
});
keepDraft(view.state.doc.toString());
live.on("hello", () => forceLinting(view));
const line = /^#L(\d+)$/.exec(location.hash);
if (line) show({ file, line: Number(line[1]), column: 1 });
host.dataset.ready = "";
