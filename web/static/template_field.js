// A template with its live result: `hm-template` becomes one when its field is entered, so that a page pays for it then.
// On pages that know the nonce of their styles the field is a line of CodeMirror; elsewhere it stays what it is.
const WAIT_MS = 250;
const PART = /\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}/gs;

class TemplateField extends HTMLElement {
  connectedCallback() {
    if (this.box) return;
    this.box = this.querySelector("textarea");
    this.output = this.querySelector("output");
    this.asked = 0;
    this.box.addEventListener("compositionstart", () => { this.composing = true; });
    this.box.addEventListener("compositionend", () => { this.composing = false; });
    this.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.show(), WAIT_MS);
    });
    this.show();
    const nonce = document.querySelector("[data-nonce]")?.dataset.nonce;
    if (nonce) this.edit(nonce);
  }

  /** Ask the hub what the template says now; who may not ask sees no result. */
  async show() {
    const mine = ++this.asked;
    const body = JSON.stringify({ template: this.box.value, variables: "" });
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    const answer = this.box.value.trim() && await fetch("/developer/preview", { method: "POST", body, headers }).catch(() => null);
    if (mine !== this.asked) return;
    const told = answer?.ok ? (await answer.json()).preview : null;
    this.output.textContent = told ? told.error || told.result : "";
    this.output.classList.toggle("danger", Boolean(told?.error));
    this.output.parentElement.hidden = !told;
  }

  /** Put a line of CodeMirror in the place of the field. Nothing of the field stays that could be entered; what is sent is hidden. */
  async edit(nonce) {
    const { Decoration, EditorState, EditorView, StateField, basicSetup } = await import("./vendor/codemirror.js");
    const part = Decoration.mark({ class: "cm-part" });
    const marked = (state) => Decoration.set([...state.doc.toString().matchAll(PART)].map((each) => part.range(each.index, each.index + each[0].length)));
    const parts = StateField.define({
      create: marked,
      update: (value, change) => change.docChanged ? marked(change.state) : value,
      provide: (field) => EditorView.decorations.from(field),
    });
    const { box } = this;
    if (this.composing) await new Promise((ended) => box.addEventListener("compositionend", ended, { once: true }));
    if (!this.isConnected) return; // the page shows something else by now
    const [label] = box.labels;
    const told = Object.fromEntries(["aria-describedby", "aria-invalid"].filter((name) => box.hasAttribute(name)).map((name) => [name, box.getAttribute(name)]));
    const sent = Object.assign(document.createElement("input"), { type: "hidden", name: box.name, id: box.id, value: box.value });
    const place = document.createElement("div");
    const view = new EditorView({
      parent: place,
      state: EditorState.create({
        doc: box.value,
        selection: { anchor: box.selectionStart },
        extensions: [
          EditorView.cspNonce.of(nonce), basicSetup, parts, EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label.textContent, ...told }),
          EditorView.theme({
            "&": { border: "1px solid var(--line-strong)", borderRadius: "var(--r-s)", backgroundColor: "var(--surface)", color: "var(--text)" },
            ".cm-gutters": { display: "none" },
            ".cm-activeLine": { backgroundColor: "transparent" },
            ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
            ".cm-cursor": { borderLeftColor: "var(--text)" },
            ".cm-part": { color: "var(--s4)" },
          }),
          EditorView.updateListener.of((change) => {
            if (!change.docChanged) return;
            sent.value = change.state.doc.toString();
            sent.dispatchEvent(new Event("input", { bubbles: true }));
          }),
        ],
      }),
    });
    const entered = box === document.activeElement;
    box.replaceWith(sent, place);
    this.box = sent;
    label.addEventListener("click", () => view.focus());
    if (entered) view.focus();
  }
}

customElements.define("hm-template", TemplateField);
