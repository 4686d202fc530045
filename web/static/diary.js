// The days of the calendar by the keyboard: arrows go from day to day, Page Up and Page Down to another month.
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

const days = () => [...document.querySelectorAll(".calendar a")];

/** Only one day is reached by Tab, as in a list of choices: the one that has the focus, else the open one. */
function settle(current = document.querySelector(".calendar [aria-current]") || days()[0]) {
  for (const each of days()) each.tabIndex = each === current ? 0 : -1;
}

document.addEventListener("keydown", (event) => {
  const at = days().indexOf(event.target);
  if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  const month = { PageUp: "prev", PageDown: "next" }[event.key];
  const next = event.key === "Home" ? days()[0] : event.key === "End" ? days().at(-1) : days()[at + STEPS[event.key]];
  if (month) document.querySelector(`[rel=${month}]`).click();
  else if (next) next.focus();
  else return;
  event.preventDefault();
});
document.addEventListener("focusin", (event) => event.target.matches(".calendar a") && settle(event.target));
settle();
