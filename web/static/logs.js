// The log as it grows: new lines come in above, until paused.
const EVERY_MS = 2_000;
const ROWS = 1_000;
const list = document.getElementById("log");
const pause = document.getElementById("pause");
const download = document.getElementById("download");
const TONES = { WARNING: "warn", ERROR: "danger", CRITICAL: "danger" };
let paused = false;

function row(record) {
  const item = document.createElement("li");
  const time = Object.assign(document.createElement("time"), { className: "when", textContent: record.time });
  const level = record.level[0] + record.level.slice(1).toLowerCase();
  const chip = Object.assign(document.createElement("span"), { className: `chip ${TONES[record.level] ?? ""}`, textContent: level });
  const lead = Object.assign(document.createElement("div"), { className: "lead" });
  lead.append(
    Object.assign(document.createElement("small"), { textContent: record.part }),
    Object.assign(document.createElement("span"), { className: "lines", textContent: record.text }),
  );
  item.append(time, chip, lead);
  return item;
}

async function look() {
  if (paused || document.hidden) return;
  const query = new URLSearchParams(location.search);
  query.set("cursor", list.dataset.cursor);
  query.set("format", "json");
  try {
    const response = await fetch(`/settings/logs?${query}`);
    if (!response.ok) return;
    const { records, cursor } = await response.json();
    if (paused) return;
    list.dataset.cursor = cursor;
    if (records.length) document.getElementById("log-empty")?.remove();
    list.prepend(...records.map(row));
    while (list.children.length > ROWS) list.lastElementChild.remove();
  } catch { /* the badge tells that the hub is away */ }
}

pause.hidden = download.hidden = false;
pause.addEventListener("click", () => {
  paused = !paused;
  pause.setAttribute("aria-pressed", String(paused));
  look();
});
download.addEventListener("click", () => {
  const text = [...list.children].reverse().map((each) => [...each.querySelectorAll("time, .chip, small, .lines")].map((part) => part.textContent).join(" ")).join("\n");
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  Object.assign(document.createElement("a"), { href, download: "homarus.log" }).click();
  URL.revokeObjectURL(href);
});
setInterval(look, EVERY_MS);
