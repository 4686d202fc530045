// The YAML editor. Errors and completions come from the hub: its schemas are the only source of truth.
import {
  autocompletion, basicSetup, EditorState, EditorView, forceLinting, HighlightStyle, indentUnit, keymap, linter,
  lintGutter, Prec, syntaxHighlighting, tags, yaml,
} from "./vendor/codemirror.js";
import { live } from "./live.js";
import { t } from "./texts.js";

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

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "light-dark(#1d4f91, #8ab8ff)" },
  { tag: [tags.string, tags.special(tags.string)], color: "light-dark(#1c6e3d, #8fd6a8)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "light-dark(#8a3b00, #f0b27a)" },
  { tag: [tags.typeName, tags.labelName, tags.meta], color: "light-dark(#7a2a8f, #d6a2e8)" },
  { tag: tags.comment, color: "light-dark(#5b6577, #98a3b6)" },
]);
const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--raised) 60%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--mine)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--mine)", color: "var(--text)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
});

async function ask(path, body) {
  const response = await fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", Accept: "application/json" },
  });
  const answer = await response.json().catch(() => ({}));
  return { ok: response.ok, status: response.status, body: answer.error || answer };
}

const offset = (doc, line, column) => {
  const at = doc.line(Math.min(Math.max(line || 1, 1), doc.lines));
  return Math.min(at.from + Math.max((column || 1) - 1, 0), at.to);
};

async function check(view) {
  const doc = view.state.doc;
  let answer;
  try { answer = await ask("/config/check", { file, text: doc.toString() }); } catch { return []; }
  if (!answer.ok) { tell(answer.body.message, "bad"); return []; }
  showProblems(answer.body.problems);
  host.dataset.checked = String(Number(host.dataset.checked || 0) + 1);
  return answer.body.problems.filter((problem) => problem.file === file).map((problem) => {
    const from = offset(doc, problem.line, problem.column);
    const word = /^[^\s:#]+/.exec(doc.sliceString(from, doc.lineAt(from).to));
    return {
      from,
      to: Math.max(from, from + (word ? word[0].length : 0)),
      severity: problem.severity,
      message: [problem.message, problem.hint].filter(Boolean).join("\n"),
    };
  });
}

function showProblems(problems) {
  list.replaceChildren(...problems.map((problem) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.className = problem.severity === "warning" ? "warn" : "bad";
    button.textContent = `${problem.file}:${problem.line} ${problem.message}${problem.hint ? ` · ${problem.hint}` : ""}`;
    button.addEventListener("click", () => show(problem));
    item.append(button);
    return item;
  }));
  list.hidden = problems.length === 0;
}

function show(problem) {
  if (problem.file !== file) {
    location.assign(`/config?file=${encodeURIComponent(problem.file)}#L${problem.line}`);
    return;
  }
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
  return true;
}

async function store(against) {
  const text = view.state.doc.toString();
  tell(t("Saving…"));
  let answer;
  try { answer = await ask("/config/save", { file, text, base_hash: against }); }
  catch { tell(t("The hub cannot be reached right now. Your text is kept in this browser."), "bad"); return; }
  if (answer.status === 409) { conflict(answer.body); return; }
  if (!answer.ok) { tell(`${answer.body.message || answer.status} ${t("Your text is kept in this browser.")}`, "bad"); return; }
  base = answer.body.hash;
  saved = text;
  keepDraft(view.state.doc.toString());
  tell(answer.body.message, answer.body.valid ? "good" : "warn");
  forceLinting(view);
}

function conflict(body) {
  const mine = document.createElement("button");
  mine.type = "button";
  mine.textContent = t("Save mine over it");
  mine.addEventListener("click", () => store(body.details?.hash));
  const theirs = document.createElement("button");
  theirs.type = "button";
  theirs.textContent = t("Load the file and drop mine");
  theirs.addEventListener("click", () => { localStorage.removeItem(DRAFT); location.reload(); });
  tell(`${t("The file changed meanwhile. Nothing was saved; your text is still here.")} `, "bad");
  state.append(mine, " ", theirs);
}

function startText() {
  try {
    const draft = JSON.parse(localStorage.getItem(DRAFT));
    if (!draft || draft.text === original) return original;
    const drop = document.createElement("button");
    drop.type = "button";
    drop.textContent = t("Discard it");
    drop.addEventListener("click", () => { localStorage.removeItem(DRAFT); location.reload(); });
    tell(`${t("This is your unsaved draft.")} `, "warn");
    state.append(drop);
    base = draft.base; // saving against what the draft was made from finds a change made meanwhile
    return draft.text;
  } catch { return original; }
}

const view = new EditorView({
  parent: host,
  state: EditorState.create({
    doc: startText(),
    extensions: [
      EditorView.cspNonce.of(host.dataset.nonce),
      Prec.highest(keymap.of([{ key: "Mod-s", preventDefault: true, run: save }])),
      basicSetup,
      yaml(),
      indentUnit.of("  "),
      EditorState.tabSize.of(2),
      Prec.highest(syntaxHighlighting(colours)),
      theme,
      lintGutter(),
      linter(check, { delay: 400 }),
      autocompletion({ override: [complete], activateOnTyping: true }),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": t("Text of {file}", { file }), id: "config-content", tabindex: "0" }),
      EditorView.updateListener.of((update) => update.docChanged && keepDraft(update.state.doc.toString())),
      EditorState.phrases.of({ "Find": t("Find"), "Replace": t("Replace"), "next": t("next"), "previous": t("previous"), "all": t("all"), "replace": t("replace"), "close": t("Close") }),
    ],
  }),
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
