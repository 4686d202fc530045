// The YAML of a script: what is wrong comes from the hub while one types.
import { t } from "./texts.js";
import { forceLinting, yamlView } from "./yaml_view.js";

const form = document.getElementById("script-edit");
const area = document.getElementById("script-text");
const host = document.getElementById("script-editor");
const list = document.getElementById("problems");

async function check(text) {
  const response = await fetch("/scripts/check", {
    method: "POST",
    body: JSON.stringify({ text }),
    headers: { "Content-Type": "application/json", Accept: "application/json" },
  });
  if (!response.ok) return [];
  const { problems } = await response.json();
  list.replaceChildren(...problems.map((problem) => {
    const item = document.createElement("li");
    item.textContent = `${problem.line}: ${problem.path ? `${problem.path}: ` : ""}${problem.message}`;
    return item;
  }));
  list.hidden = problems.length === 0;
  host.dataset.checked = String(Number(host.dataset.checked || 0) + 1);
  return problems;
}

const view = yamlView({
  host,
  nonce: form.dataset.nonce,
  text: area.value,
  name: t("The script as YAML"),
  check,
  save: () => form.requestSubmit(),
  changed: (text) => { area.value = text; },
});
area.hidden = true;
forceLinting(view);
host.dataset.ready = "";
