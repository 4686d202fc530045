// The graph of a trace: a box shows the details of its step; arrow keys go from box to box.
const graph = document.querySelector("svg.graph");
const boxes = graph ? [...graph.querySelectorAll("a.box")] : [];

function choose(box, { scroll = true } = {}) {
  for (const each of boxes) each.toggleAttribute("aria-current", each === box);
  box.setAttribute("aria-current", "true");
  const step = document.getElementById(box.dataset.step);
  if (!step) return;
  const details = step.matches("details") ? step : step.querySelector("details");
  if (details) details.open = true;
  if (scroll) step.scrollIntoView({ block: "nearest" });
}

graph?.addEventListener("click", (event) => {
  const box = event.target.closest("a.box");
  if (!box) return;
  event.preventDefault();
  choose(box);
  history.replaceState(null, "", `#${box.dataset.step}`);
});

graph?.addEventListener("keydown", (event) => {
  const at = boxes.indexOf(document.activeElement);
  const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
  if (at < 0 || !(event.key in steps)) return;
  event.preventDefault();
  const next = boxes[Math.min(Math.max(at + steps[event.key], 0), boxes.length - 1)];
  next.focus();
  choose(next, { scroll: false });
});

const open = location.hash.startsWith("#step-") && boxes.find((box) => `#${box.dataset.step}` === location.hash);
if (open) choose(open);
