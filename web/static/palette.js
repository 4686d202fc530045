// ⌘K: go to a page, or to anything the hub knows by name, or do something. `?`: the sheet of shortcuts.
import { html, LitElement } from "./vendor/lit.js";
import { t } from "./texts.js";

const WAIT_MS = 150;
const KINDS = {
  conversation: t("Conversation"), automation: t("Automation"), script: t("Script"), blueprint: t("Blueprint"),
  file: t("Memory file"), memory: t("Memory"), message: t("Message"), entity: t("Device"), agent: t("Agent"), page: t("Page"), setting: t("Setting"),
};

const ICONS = {
  conversation: "message-circle", automation: "zap", script: "scroll-text", blueprint: "layout-grid", file: "file", memory: "brain", message: "message-circle",
  entity: "lightbulb", agent: "bot", page: "arrow-right", setting: "settings",
};
const sprite = new URL("./vendor/sprite.svg", import.meta.url).pathname;
const icon = (name) => html`<svg class="icon" aria-hidden="true"><use href="${sprite}#${name}"></use></svg>`;
const command = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";

class Palette extends LitElement {
  static properties = { query: { state: true }, at: { state: true }, mode: { state: true }, found: { state: true } };

  constructor() {
    super();
    this.query = "";
    this.at = 0;
    this.mode = "";
    this.found = [];
  }

  createRenderRoot() {
    return this; // light DOM: our styles, htmx and text search see inside
  }

  open(mode) {
    this.mode = mode;
    this.query = "";
    this.found = [];
    this.at = 0;
    this.updateComplete.then(() => {
      const dialog = this.querySelector("dialog");
      if (!dialog.open) dialog.showModal();
      dialog.querySelector("input, button")?.focus();
    });
  }

  /** Ask the hub for what is called so, and for what was said: conversations, automations, scripts, blueprints, memory. */
  async ask(query) {
    clearTimeout(this.timer);
    if (!query.trim()) { this.found = []; return; }
    this.timer = setTimeout(async () => {
      const answer = await fetch(`/find?q=${encodeURIComponent(query)}`, { headers: { Accept: "application/json" } }).catch(() => null);
      const { found } = answer?.ok ? await answer.json() : { found: [] };
      if (query === this.query) this.found = found;
    }, WAIT_MS);
  }

  get choices() {
    const places = [...document.querySelectorAll(".side nav a, .tabs a:not(:first-child), #sessions a")].map((link) => ({
      name: link.title || (link.querySelector(".name") || link).textContent.trim(),
      icon: link.querySelector(".icon"),
      run: () => location.assign(link.href),
    }));
    const acts = [...document.querySelectorAll("[data-key]")].map((button) => ({
      name: button.textContent.trim() || button.ariaLabel,
      run: () => button.click(),
    }));
    const own = [
      { name: t("New conversation"), run: () => post("/chat/new") },
      { name: t("New incognito conversation"), run: () => post("/chat/incognito") },
      { name: t("New automation"), run: () => location.assign("/automations/new") },
      { name: t("New script"), run: () => location.assign("/scripts/new") },
      { name: t("Remember something"), run: () => location.assign("/memory#remember-text") },
      { name: t("Reload the configuration"), run: () => post("/config/reload") },
      { name: t("Keyboard shortcuts"), run: () => this.open("sheet") },
      { name: t("Sign out"), run: () => post("/logout") },
    ].filter(({ name }) => !acts.some((act) => act.name === name));
    const found = this.found.map(({ kind, name, path }) => ({ name, kind: KINDS[kind], icon: ICONS[kind], run: () => location.assign(path) }));
    const wanted = this.query.toLowerCase().split(/\s+/);
    const here = [...places, ...acts, ...own].filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)));
    const asked = this.query.trim();
    const ask = asked ? [{ name: t("Ask: {text}", { text: asked }), icon: "send", run: () => post("/chat/send", { text: asked }) }] : [];
    return [...here, ...found.filter(({ name }) => !here.some((each) => each.name === name)), ...ask];
  }

  keydown(event) {
    const count = this.choices.length;
    if (event.key === "ArrowDown") this.at = (this.at + 1) % Math.max(count, 1);
    else if (event.key === "ArrowUp") this.at = (this.at + count - 1) % Math.max(count, 1);
    else if (event.key === "Enter" && !event.isComposing) this.choose(this.choices[this.at]);
    else return;
    event.preventDefault();
  }

  choose(choice) {
    if (!choice) return;
    this.querySelector("dialog").close();
    choice.run();
  }

  render() {
    if (!this.mode) return "";
    return html`<dialog aria-label=${this.mode === "sheet" ? t("Keyboard shortcuts") : t("Search or do")}>
      ${this.mode === "sheet" ? this.sheet() : this.search()}
    </dialog>`;
  }

  search() {
    const choices = this.choices;
    return html`<div class="find"><input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list"
        aria-label=${t("Search or do")} placeholder=${t("Search or do")} autocomplete="off" .value=${this.query}
        aria-activedescendant=${choices.length ? `palette-${this.at}` : ""}
        @input=${(event) => { this.query = event.target.value; this.at = 0; this.ask(this.query); }} @keydown=${this.keydown}><kbd>Esc</kbd></div>
      ${choices.length ? html`<div role="listbox" class="options" id="palette-list" aria-label=${t("Search or do")}>
        ${choices.map((choice, index) => html`<div role="option" id="palette-${index}" aria-selected=${index === this.at}
          @click=${() => this.choose(choice)}>${choice.icon?.cloneNode?.(true) ?? icon(choice.icon ?? "arrow-right")}<span dir="auto">${choice.name}</span>${choice.kind ? html` <small>${choice.kind}</small>` : ""}</div>`)}
      </div>` : html`<p id="palette-list" class="empty">${t("No results.")}</p>`}`;
  }

  sheet() {
    const rows = [
      [`${command}+K`, t("Search or do")], ["?", t("Keyboard shortcuts")],
      ...[...document.querySelectorAll(".side a[data-letter]")].map((link) => [`g ${link.dataset.letter}`, link.title]),
      [`${command}+B`, t("Fold the side bar")], ["n", t("New conversation")],
      ["/", t("Write a message")], ["Esc", t("Stop")], [`${command}+S`, t("Save the file")], [`${command}+Shift+Y`, t("Form or YAML")],
    ];
    return html`<header><h2>${t("Keyboard shortcuts")}</h2></header>
      <table><tbody>${rows.map(([key, words]) => html`<tr><td><kbd>${key}</kbd></td><td>${words}</td></tr>`)}</tbody></table>
      <form method="dialog" class="body"><button class="button">${t("Close")}</button></form>`;
  }
}

/** Post a form, as a button on a page would. */
function post(path, fields = {}) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = path;
  for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(form);
  form.submit();
}

customElements.define("hm-palette", Palette);

const palette = () => document.querySelector("hm-palette");
export const openPalette = () => palette()?.open("search");
export const openSheet = () => palette()?.open("sheet");
