// A YAML editor for any page: what is wrong comes from a function, so the hub's schemas stay the only source of truth.
import {
  autocompletion, basicSetup, EditorState, EditorView, forceLinting, HighlightStyle, indentUnit, keymap, linter,
  lintGutter, Prec, syntaxHighlighting, tags, yaml,
} from "./vendor/codemirror.js";
import { t } from "./texts.js";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "light-dark(#1d4f91, #8ab8ff)" },
  { tag: [tags.string, tags.special(tags.string)], color: "light-dark(#1c6e3d, #8fd6a8)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "light-dark(#8a3b00, #f0b27a)" },
  { tag: [tags.typeName, tags.labelName, tags.meta], color: "light-dark(#7a2a8f, #d6a2e8)" },
  { tag: tags.comment, color: "light-dark(#5b6577, #98a3b6)" },
]);
const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)" },
  "&:focus-within": { outline: "2px solid var(--action)" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--sunken) 60%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--action-soft)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--action-soft)", color: "var(--text)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
});

/** Return the character that a line and column (from 1) are. */
export const offset = (doc, line, column) => {
  const at = doc.line(Math.min(Math.max(line || 1, 1), doc.lines));
  return Math.min(at.from + Math.max((column || 1) - 1, 0), at.to);
};

/** Return problems `{line, column, message, hint, severity}` as marks of the editor. */
export function marks(doc, problems) {
  return problems.map((problem) => {
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

/**
 * Put typed text in the place of a selection, in the editor's own way.
 *
 * Chromium would keep the look of what it replaces in a style attribute, which the page's policy forbids.
 */
function typedOver(event, view) {
  const text = event.data;
  let { from, to } = view.state.selection.main;
  const selection = document.getSelection();
  if (event.inputType !== "insertText" || !text || view.composing) return false;
  if (from === to && view.contentDOM.contains(selection.anchorNode)) {
    // The editor may not know yet what was selected just now; of target ranges Chromium names none here.
    const range = selection.getRangeAt(0);
    from = view.posAtDOM(range.startContainer, range.startOffset);
    to = view.posAtDOM(range.endContainer, range.endOffset);
  }
  if (from === to) return false;
  const change = { changes: { from, to, insert: text }, selection: { anchor: from + text.length } };
  const replaced = () => view.state.update({ ...change, userEvent: "input.type", scrollIntoView: true });
  const taken = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, replaced));
  if (!taken) view.dispatch(replaced());
  return true;
}

/**
 * Open an editor in `host`.
 *
 * `check(text)` returns problems, `save()` is what Ctrl+S does, `changed(text)` is called at each edit, `complete` is a
 * source of completions of CodeMirror, `name` is what the editor is called, `told` has the ids of what is said of it.
 */
export function yamlView({ host, nonce, text, name, check, save, changed = () => {}, complete = null, told = null }) {
  const lint = async (view) => {
    try { return marks(view.state.doc, await check(view.state.doc.toString())); } catch { return []; }
  };
  return new EditorView({
    parent: host,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(nonce),
        Prec.highest(keymap.of([{ key: "Mod-s", preventDefault: true, run: () => { save(); return true; } }])),
        basicSetup,
        yaml(),
        indentUnit.of("  "),
        EditorState.tabSize.of(2),
        Prec.highest(syntaxHighlighting(colours)),
        theme,
        lintGutter(),
        linter(lint, { delay: 400 }),
        ...(complete ? [autocompletion({ override: [complete], activateOnTyping: true })] : []),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: typedOver }),
        EditorView.contentAttributes.of({ "aria-label": name, tabindex: "0", ...(told && { "aria-describedby": told }) }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
        EditorState.phrases.of({ "Find": t("Find"), "Replace": t("Replace"), "next": t("next"), "previous": t("previous"), "all": t("all"), "replace": t("replace"), "close": t("Close") }),
      ],
    }),
  });
}

export { EditorView, forceLinting };
