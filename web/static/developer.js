// Developer tools: the filter acts while one types, events can be paused, a template is shown as it is written.
import { live, morph } from "./live.js";

const WAIT_MS = 250;
const later = (act) => {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(act, WAIT_MS); };
};

// -- states: the words of the filter are the topic that this tab watches ------------------------------------------------

const words = document.getElementById("states-live") && document.querySelector("[type=search]");
words?.addEventListener("input", later(() => {
  const query = words.value.trim().toLowerCase().split(/\s+/).join(" ");
  document.getElementById("states-live").dataset.topic = query ? `states:${query}` : "states";
  history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : location.pathname);
  live.watch();
}));

// -- events: while they are paused, nothing is watched ------------------------------------------------------------------

const pause = document.getElementById("pause");
if (pause) {
  const place = document.getElementById("events-live");
  const topic = place.dataset.topic;
  pause.hidden = false;
  pause.addEventListener("click", () => {
    const paused = pause.getAttribute("aria-pressed") !== "true";
    pause.setAttribute("aria-pressed", String(paused));
    if (paused) delete place.dataset.topic;
    else place.dataset.topic = topic;
    place.toggleAttribute("data-paused", paused);
    live.watch();
  });
}

// -- services: a long list is filtered here -----------------------------------------------------------------------------

for (const input of document.querySelectorAll("[data-filter]")) {
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase().split(/\s+/);
    for (const card of document.querySelector(input.dataset.filter).children) {
      const rows = [...card.querySelectorAll("li")];
      for (const row of rows) {
        const text = `${row.dataset.words} ${row.textContent}`.toLowerCase();
        row.hidden = !wanted.every((word) => text.includes(word));
      }
      card.hidden = rows.every((row) => row.hidden);
    }
  });
}

// -- templates ----------------------------------------------------------------------------------------------------------

const form = document.getElementById("template-form");
let asked = 0;
async function preview() {
  const mine = ++asked;
  const body = JSON.stringify({ template: form.elements.template.value, variables: form.elements.variables.value });
  try {
    const response = await fetch("/developer/preview", {
      method: "POST", body, headers: { "Content-Type": "application/json", Accept: "application/json" },
    });
    if (mine !== asked || !response.ok) return;
    morph("preview", (await response.json()).html);
  } catch { /* the badge tells that the hub is away; the next letter asks again */ }
}
form?.addEventListener("input", later(preview));
form?.addEventListener("submit", (event) => { event.preventDefault(); preview(); });
