// The Markdown of a memory file: ⌘S saves, and what is typed is kept in this browser until it is saved.
import { t } from "./texts.js";

const form = document.getElementById("memory-edit");
if (form) begin();

function begin() {
  const area = form.elements.text;
  const state = document.getElementById("edit-state");
  const path = form.elements.path;
  const original = area.value;
  const kept = `homarus:memory:${form.elements.agent?.value || ""}:${form.elements.new.value || path.value}`;
  let saving = false;

  const tell = (message, kind = "", ...more) => {
    state.className = `grow small ${kind}`;
    state.replaceChildren(message, ...more);
  };
  const drop = () => { try { localStorage.removeItem(kept); } catch { /* there is no store */ } };

  function restore() {
    if ("kept" in area.dataset) return; // the page holds the draft already
    let draft = null;
    try { draft = JSON.parse(localStorage.getItem(kept)); } catch { return; }
    if (!draft || draft.text === original) return;
    area.value = draft.text;
    if (draft.path) path.value = draft.path;
    form.elements.base_hash.value = draft.base; // saving against what it was made from finds a change made meanwhile
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button";
    button.textContent = t("Discard");
    button.addEventListener("click", () => { drop(); location.reload(); });
    tell(`${t("This is your unsaved draft.")} `, "warn", button);
  }

  function keep() {
    const draft = { text: area.value, base: form.elements.base_hash.value, path: path.value };
    try { localStorage.setItem(kept, JSON.stringify(draft)); }
    catch { /* without a store the draft lives as long as the page */ }
  }

  function signIn() {
    const link = document.createElement("a");
    link.href = "/login";
    link.target = "_blank";
    link.textContent = t("Sign in");
    return link;
  }

  area.addEventListener("input", keep);
  path.addEventListener("input", keep);
  for (const link of document.querySelectorAll("#memory-edit a.button")) link.addEventListener("click", drop);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (saving) return; // a second press would find the first one's change
    saving = true;
    save().finally(() => { saving = false; });
  });

  async function save() {
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
      tell(t("The hub cannot be reached right now. Your text is kept in this browser."), "danger");
      return;
    }
    if (response.status === 409) { form.submit(); return; } // the hub shows both texts
    if (response.status === 401) {
      tell(`${t("You are signed out. Sign in in another tab, then save again. Your text is kept in this browser.")} `, "danger", signIn());
      return;
    }
    if (!response.ok) {
      const answer = await response.json().catch(() => ({}));
      tell(`${answer.error?.message || response.status} ${t("Your text is kept in this browser.")}`, "danger");
      return;
    }
    drop();
    const query = new URLSearchParams({ path: fields.path.trim(), told: "saved" });
    if (fields.agent) query.set("agent", fields.agent);
    location.assign(`/memory/file?${query}`);
  }

  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "s") { event.preventDefault(); form.requestSubmit(); }
  });
  restore();
}
document.documentElement.dataset.edits = "";
