// Keeps a page of memory true: the hub tells that something changed, and the page asks for itself again, in the
// reader's own name. Nothing of what is remembered is sent unasked.
import { live, morph } from "./live.js";

const BUSY_MS = 2_000; // how often a page is looked at on which the index is worked at

let seen = -1;
let asking = false;
let again = false;

async function refresh() {
  if (asking) { again = true; return; }
  asking = true;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("memory-page");
    if (fresh) morph("memory-page", fresh.outerHTML);
  } catch { /* the hub is away; the next connection tells the revision again */
  } finally {
    asking = false;
    if (again) { again = false; refresh(); }
    else watchWork();
  }
}

// The tab one is on may stand beside the edge of a narrow screen.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

let waiting = 0;
function watchWork() {
  clearTimeout(waiting);
  if ("busy" in (document.getElementById("memory-page")?.dataset || {})) waiting = setTimeout(refresh, BUSY_MS);
}
watchWork();

live.on("memory", ({ revision }) => {
  const first = seen < 0;
  const changed = seen !== revision;
  seen = revision;
  const shown = Number(document.getElementById("memory-page").dataset.revision);
  if (first ? shown !== revision : changed) refresh();
});
