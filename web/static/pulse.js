// Keeps a page true: the hub tells that something changed, and the page asks for itself again, in the reader's own
// name. Nothing of what it shows is sent unasked.
import { live, morph } from "./live.js";

const BUSY_MS = 2_000; // how often a page is looked at on which work goes on

let seen = -1;
let asking = false;
let again = false;

const page = () => document.querySelector("main [data-revision]");

async function refresh() {
  if (asking) { again = true; return; }
  asking = true;
  try {
    const id = page()?.id;
    const response = id && await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response?.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(id);
    if (fresh) morph(id, fresh.outerHTML);
  } catch { /* the hub is away; the next connection tells the revision again */
  } finally {
    asking = false;
    if (again) { again = false; refresh(); }
    else watchWork();
  }
}

let waiting = 0;
function watchWork() {
  clearTimeout(waiting);
  if ("busy" in (page()?.dataset || {})) waiting = setTimeout(refresh, BUSY_MS);
}
watchWork();

live.on("pulse", ({ revision }) => {
  const first = seen < 0;
  const changed = seen !== revision;
  seen = revision;
  if (!page()) return;
  if (first ? Number(page().dataset.revision) !== revision : changed) refresh();
});
