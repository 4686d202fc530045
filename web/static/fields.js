// Fields that pick: `hm-pick` asks the hub for entities, devices, people …; `hm-duration` takes hours, minutes and seconds.
// Without script the select or text box inside them is the field.
import { html, LitElement, nothing } from "./vendor/lit.js";
import { t } from "./texts.js";

const WAIT_MS = 150;
let count = 0;
const chosen = ({ value, text, dataset }) => ({ value, text, icon: dataset.icon });

class Pick extends LitElement {
  static properties = {
    kind: {}, domain: {}, label: {}, multiple: { type: Boolean }, picked: { type: Array },
    found: { state: true }, at: { state: true }, open: { state: true },
  };

  constructor() {
    super();
    this.picked = [];
    this.found = [];
    this.at = -1;
    this.open = false;
    this.number = ++count;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    const field = this.querySelector("select, input");
    if (field) {
      this.name = field.name;
      this.invalid = field.getAttribute("aria-invalid");
      this.described = field.getAttribute("aria-describedby");
      this.fieldId = field.id;
      if (!this.picked?.length) {
        const values = field.options
          ? [...field.selectedOptions].filter((each) => each.value).map(chosen)
          : field.value.split(",").map((each) => each.trim()).filter(Boolean).map((value) => ({ value, text: value }));
        this.picked = values;
      }
      this.given = field.options ? [...field.options].filter((each) => each.value).map(chosen) : null;
      this.replaceChildren();
    }
    super.connectedCallback();
  }

  async search(query) {
    this.open = true;
    this.at = 0;
    if (this.given) {
      const wanted = query.toLowerCase();
      this.found = this.given.filter(({ text }) => text.toLowerCase().includes(wanted));
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const address = `/pick?${new URLSearchParams({ kind: this.kind, q: query, ...(this.domain && { domain: this.domain }) })}`;
      const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
      this.found = answer?.ok ? (await answer.json()).items : [];
    }, this.found.length ? WAIT_MS : 0);
  }

  take(item) {
    if (!item) return;
    const others = this.multiple ? this.picked.filter((each) => each.value !== item.value) : [];
    this.picked = [...others, item];
    this.close();
    this.querySelector(".box input").value = "";
    this.updateComplete.then(() => this.dispatchEvent(new Event("change", { bubbles: true })));
  }

  drop(item) {
    this.picked = this.picked.filter((each) => each.value !== item.value);
    this.updateComplete.then(() => this.dispatchEvent(new Event("change", { bubbles: true })));
    this.querySelector(".box input").focus();
  }

  close() {
    this.open = false;
    this.at = -1;
  }

  keydown(event) {
    const size = this.found.length;
    if (event.key === "ArrowDown") { if (this.open) this.at = (this.at + 1) % Math.max(size, 1); else this.search(event.target.value); }
    else if (event.key === "ArrowUp") this.at = (this.at + size - 1) % Math.max(size, 1);
    else if (event.key === "Enter" && this.open && !event.isComposing) this.take(this.found[this.at]);
    else if (event.key === "Escape" && this.open) this.close();
    else if (event.key === "Backspace" && !event.target.value && this.picked.length) this.drop(this.picked.at(-1));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  updated() {
    const list = this.querySelector(".options");
    if (!list) return;
    const box = this.querySelector(".box").getBoundingClientRect();
    if (this.open && !list.matches(":popover-open")) list.showPopover();
    if (!this.open && list.matches(":popover-open")) list.hidePopover();
    Object.assign(list.style, { position: "fixed", left: `${box.left}px`, width: `${box.width}px` });
    const below = innerHeight - box.bottom;
    Object.assign(list.style, below > 200 || below > box.top ? { top: `${box.bottom}px`, bottom: "auto" } : { top: "auto", bottom: `${innerHeight - box.top}px` });
    list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  render() {
    const list = `pick-${this.number}`;
    return html`<div class="box">
      ${this.picked.map((item) => html`<span class="picked">${icon(item.icon)}<span class="truncate" dir="auto">${item.text}</span>${item.sub ? html`<small>${item.sub}</small>` : nothing}
        <button type="button" aria-label=${t("Remove {name}", { name: item.text })} @click=${() => this.drop(item)}>×</button><input type="hidden" name=${this.name} .value=${item.value}></span>`)}
      <input type="text" id=${this.fieldId || nothing} role="combobox" aria-label=${this.label} aria-expanded=${this.open} aria-controls=${list} aria-autocomplete="list" autocomplete="off"
        aria-invalid=${this.invalid || nothing} aria-describedby=${this.described || nothing}
        aria-activedescendant=${this.open && this.at >= 0 ? `${list}-${this.at}` : nothing} placeholder=${this.picked.length ? "" : t("Search")}
        @input=${(event) => { event.stopPropagation(); this.search(event.target.value); }} @change=${(event) => event.stopPropagation()} @focus=${(event) => this.search(event.target.value)} @click=${(event) => this.search(event.target.value)}
        @blur=${this.close} @keydown=${this.keydown}>
    </div>
    <div class="options" id=${list} role="listbox" aria-label=${this.label} popover="manual">
      ${this.found.map((item, index) => html`<div role="option" id="${list}-${index}" aria-selected=${index === this.at} @mousedown=${(event) => { event.preventDefault(); this.take(item); }}>
        ${icon(item.icon)}<span class="grow" dir="auto">${item.text}${item.sub ? html`<small>${item.sub}</small>` : nothing}</span></div>`)}
      ${this.found.length ? nothing : html`<p class="empty">${t("No results.")}</p>`}
    </div>`;
  }
}

const sprite = new URL("./vendor/sprite.svg", import.meta.url).pathname;
const icon = (name) => name ? html`<svg class="icon" aria-hidden="true"><use href="${sprite}#${name}"></use></svg>` : nothing;

class Duration extends LitElement {
  static properties = { signed: { type: Boolean } };

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    const field = this.querySelector("input");
    if (field) {
      this.name = field.name;
      this.label = field.getAttribute("aria-label");
      this.invalid = field.getAttribute("aria-invalid");
      this.described = field.getAttribute("aria-describedby");
      this.before = field.value.startsWith("-");
      this.parts = parts(field.value.replace(/^[+-]/, ""));
      this.replaceChildren();
    }
    super.connectedCallback();
  }

  change(index, value) {
    this.parts[index] = Math.max(0, Math.trunc(Number(value) || 0));
    this.requestUpdate();
  }

  render() {
    const [hours, minutes, seconds] = this.parts;
    const value = hours + minutes + seconds ? (this.before ? "-" : "") + [hours, minutes, seconds].map((each) => String(each).padStart(2, "0")).join(":") : "";
    const names = [[t("hours"), t("h")], [t("minutes"), t("min")], [t("seconds"), t("s")]];
    const side = (sign, name) => html`<label><input type="radio" name="${this.name}:side" .checked=${this.before === Boolean(sign)} @change=${() => { this.before = Boolean(sign); this.requestUpdate(); }}>${name}</label>`;
    return html`<div class="field"><div class="parts">${names.map(([name, short], index) => html`<input type="number" min="0" inputmode="numeric" aria-label="${this.label}, ${name}" .value=${String(this.parts[index])}
        aria-invalid=${this.invalid || nothing} aria-describedby=${this.described || nothing}
        @input=${(event) => this.change(index, event.target.value)}><span aria-hidden="true">${short}</span>`)}
      <input type="hidden" name=${this.name} .value=${value}></div>
      ${this.signed ? html`<div class="segments" role="radiogroup" aria-label="${this.label}, ${t("before or after")}">${side("-", t("before"))}${side("", t("after"))}</div>` : nothing}</div>`;
  }
}

/** Return hours, minutes and seconds of `1:30:00`, `90` (seconds) or `5 min`. */
function parts(text) {
  const colons = text.split(":").map(Number);
  if (colons.length > 1) return colons.length === 3 ? colons : [...colons, 0];
  const all = { d: 0, h: 0, m: 0, s: 0 };
  for (const [, number, unit] of text.matchAll(/([\d.]+)\s*([dhms]?)/g)) all[unit || "s"] += Number(number);
  const total = Math.round(all.d * 86400 + all.h * 3600 + all.m * 60 + all.s);
  return [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
}

/** Put a time that was pasted as people write it (`7:30am`, `7.30`, `730`) into a field that takes only 07:30. */
document.addEventListener("paste", (event) => {
  if (!event.target.matches?.("input[type=time]")) return;
  const found = event.clipboardData.getData("text").trim().match(/^(\d{1,2})[:.h]?(\d\d)?\s*(?:([ap])\.?m\.?)?$/i);
  if (!found) return;
  const hour = found[3] ? (found[1] % 12) + (found[3].toLowerCase() === "p" ? 12 : 0) : Number(found[1]);
  event.target.value = `${String(hour).padStart(2, "0")}:${found[2] || "00"}`;
  event.target.dispatchEvent(new Event("input", { bubbles: true }));
});

customElements.define("hm-pick", Pick);
customElements.define("hm-duration", Duration);
