// Home: what is written goes into a conversation of its own, with its files, its model and its agent.
import { attaches } from "./attach.js";
import { completes } from "./commands.js";
import { t } from "./texts.js";
import { toast } from "./ui.js";

const composer = document.getElementById("composer");
const box = document.getElementById("message");

if (composer) {
  const attached = attaches(box, composer, (text) => { box.value = [text, box.value].filter(Boolean).join("\n"); });
  completes(box, document.getElementById("completions"));
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is hidden on plain http
  const key = `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  let sending = false;

  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    composer.requestSubmit();
  });
  composer.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (sending) return;
    sending = true;
    const fields = { ...Object.fromEntries(new FormData(composer)), key, text: box.value, attachments: attached.files };
    try {
      const response = await fetch(composer.action, {
        method: "POST", body: JSON.stringify(fields), headers: { Accept: "application/json", "Content-Type": "application/json" },
      });
      const body = await response.json();
      if (!response.ok) throw new Error(body.error?.message);
      box.value = "";
      location.assign(`/chat?session=${encodeURIComponent(body.session)}`);
    } catch (error) {
      toast(error instanceof TypeError ? t("The hub cannot be reached right now.") : error.message);
    } finally {
      sending = false;
    }
  });
}

document.addEventListener("change", ({ target }) => {
  if (!target.dataset.chip) return;
  const chip = document.getElementById(target.dataset.chip);
  chip.lastChild.textContent = target.dataset.name;
  chip.ariaLabel = `${chip.ariaLabel.split(":")[0]}: ${target.dataset.name}`;
  target.closest("[popover]").hidePopover();
});
