// What the editor page takes from CodeMirror 6: one bundle, so that one copy of its state module exists.
export { basicSetup, EditorView } from "codemirror";
export { Compartment, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
export { Decoration, keymap } from "@codemirror/view";
export { indentWithTab } from "@codemirror/commands";
export { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { autocompletion, startCompletion } from "@codemirror/autocomplete";
export { forceLinting, lintGutter, linter, nextDiagnostic, setDiagnostics } from "@codemirror/lint";
export { yaml } from "@codemirror/lang-yaml";
export { tags } from "@lezer/highlight";
