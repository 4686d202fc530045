// The page of an agent: its character as it reads, and groups of tools whose switches follow each other.
import { t } from "./texts.js";

const preview = document.getElementById("character-preview");
const text = document.getElementById("f-character");

async function show() {
  if (!preview.open) return;
  const place = preview.querySelector(".text");
  const answer = await fetch("/agents/preview", {
    method: "POST",
    body: JSON.stringify({ text: text.value }),
    headers: { "Content-Type": "application/json", Accept: "application/json" },
  }).catch(() => null);
  if (answer?.ok) place.innerHTML = (await answer.json()).html;
  else place.textContent = t("The hub cannot be reached right now.");
}

preview?.addEventListener("toggle", show);
text?.addEventListener("change", show);

document.addEventListener("change", (event) => {
  const group = event.target.closest?.("[data-group]");
  if (!group) return;
  const whole = group.querySelector("input[name^='tool.group:']");
  const each = [...group.querySelectorAll("input[name^='tool.']:not(:disabled)")].filter((box) => box !== whole);
  if (event.target === whole) for (const box of each) box.checked = whole.checked;
  else whole.checked = each.some((box) => box.checked);
});
document.documentElement.dataset.sets = "";
