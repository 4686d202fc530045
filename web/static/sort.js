// Lists that are put in order: drag a row by its grip, or press the arrow keys on it. Rows move between all lists of the page.
import { announce, t } from "./texts.js";

const LIST = "[data-sort]";
const lists = () => [...document.querySelectorAll(LIST)];
const rows = (list) => [...list.children].filter((row) => row.querySelector("[data-grip]"));

function moved(row) {
  const list = row.closest(LIST);
  announce(t("{name}: place {at} of {count}, {list}", {
    name: row.querySelector("[data-grip]").dataset.grip, at: rows(list).indexOf(row) + 1, count: rows(list).length, list: list.dataset.sort,
  }));
  list.dispatchEvent(new CustomEvent("sorted", { bubbles: true, detail: lists().map((each) => rows(each).map(({ dataset }) => dataset.id)) }));
}

document.addEventListener("pointerdown", (event) => {
  const grip = event.target.closest?.("[data-grip]");
  if (!grip || event.button) return;
  event.preventDefault();
  grip.focus();
  const row = grip.closest("[data-id]");
  const before = row.nextElementSibling;
  const from = row.parentElement;
  const stop = new AbortController();
  const on = (name, act) => document.addEventListener(name, act, { signal: stop.signal });
  on("pointermove", ({ clientX, clientY }) => {
    const list = lists().find((each) => {
      const { left, right } = each.getBoundingClientRect();
      return clientX >= left && clientX <= right && (lists().length < 2 || nearest(each, clientY));
    });
    if (!list) return;
    const next = rows(list).find((each) => each !== row && clientY < each.getBoundingClientRect().top + each.offsetHeight / 2);
    if (next ? row.nextElementSibling !== next : list.lastElementChild !== row) list.insertBefore(row, next ?? null);
  });
  on("pointerup", () => {
    stop.abort();
    grip.focus();
    if (row.parentElement !== from || row.nextElementSibling !== before) moved(row);
  });
  on("pointercancel", () => { stop.abort(); from.insertBefore(row, before); });
});

/** Whether a list is the one of its column that is nearest to a height: side by side all are, one below the other one is. */
function nearest(list, y) {
  const { left } = list.getBoundingClientRect();
  const away = (each) => { const { top, bottom } = each.getBoundingClientRect(); return Math.max(top - y, y - bottom, 0); };
  return lists().filter((each) => each.getBoundingClientRect().left === left).every((each) => away(list) <= away(each));
}

document.addEventListener("keydown", (event) => {
  const grip = event.target.closest?.("[data-grip]");
  if (!grip || !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  const row = grip.closest("[data-id]");
  const list = row.parentElement;
  if (event.key === "ArrowUp") row.previousElementSibling?.before(row);
  else if (event.key === "ArrowDown") row.nextElementSibling?.after(row);
  else {
    const other = lists()[lists().indexOf(list) + (event.key === "ArrowRight" ? 1 : -1)];
    if (!other) return;
    other.insertBefore(row, other.children[[...list.children].indexOf(row)] ?? null);
  }
  grip.focus();
  moved(row);
});

/** Show the grips, which do nothing without script. */
export function ready() {
  for (const grip of document.querySelectorAll("[data-grip]")) grip.hidden = false;
}
ready();
