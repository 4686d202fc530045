// A template with its live result: `hm-template` becomes one when its field is entered, so that a page pays for it then.
const WAIT_MS = 250;

class TemplateField extends HTMLElement {
  connectedCallback() {
    if (this.box) return;
    this.box = this.querySelector("textarea");
    this.output = this.querySelector("output");
    this.asked = 0;
    this.box.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.show(), WAIT_MS);
    });
    this.show();
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

}

customElements.define("hm-template", TemplateField);
