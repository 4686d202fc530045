// The Markdown of a memory file: ⌘S saves, and what is typed is kept in this browser until it is saved.
import { t } from "./texts.js";

const form = document.getElementById("memory-edit");
if (form) begin();

function begin() {
  const area = form.elements.text;
  const state = document.getElementById("edit-state");
  const original = area.value;
  const draftName = () => `homarus:memory:${form.elements.agent?.value || ""}:${form.elements.path.value}`;
  const kept = draftName();

  const tell = (message, kind = "") => {
    state.className = kind;
    state.replaceChildren(message);
  };
  const drop = () => { try { localStorage.removeItem(kept); } catch { /* there is no store */ } };

  function restore() {
    if ("kept" in area.dataset) return; // the page holds the draft already
    let draft = null;
    try { draft = JSON.parse(localStorage.getItem(kept)); } catch { return; }
    if (!draft || draft.text === original) return;
    area.value = draft.text;
    form.elements.base_hash.value = draft.base; // saving against what it was made from finds a change made meanwhile
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = t("Discard it");
    button.addEventListener("click", () => { drop(); location.reload(); });
    tell(`${t("This is your unsaved draft.")} `, "warn");
    state.append(button);
  }

  area.addEventListener("input", () => {
    try { localStorage.setItem(kept, JSON.stringify({ text: area.value, base: form.elements.base_hash.value })); }
    catch { /* without a store the draft lives as long as the page */ }
  });
  for (const link of document.querySelectorAll("#memory-edit a.button")) link.addEventListener("click", drop);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    tell(t("Saving…"));
    const fields = Object.fromEntries(new FormData(form));
    let response;
    try {
      response = await fetch(form.action, {
        method: "POST",
        body: JSON.stringify(fields),
        headers: { "Content-Type": "application/json", Accept: "application/json" },
      });
    } catch {
      tell(t("The hub cannot be reached right now. Your text is kept in this browser."), "bad");
      return;
    }
    if (response.status === 409) { form.submit(); return; } // the hub shows both texts
    if (!response.ok) {
      const answer = await response.json().catch(() => ({}));
      tell(`${answer.error?.message || response.status} ${t("Your text is kept in this browser.")}`, "bad");
      return;
    }
    drop();
    const query = new URLSearchParams({ path: fields.path.trim(), told: "saved" });
    if (fields.agent) query.set("agent", fields.agent);
    location.assign(`/memory/file?${query}`);
  });

  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "s") { event.preventDefault(); form.requestSubmit(); }
  });
  restore();
}
document.documentElement.dataset.edits = "";
