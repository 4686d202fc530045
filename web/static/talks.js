// The list of conversations: its one menu belongs to the row whose button, right click or long press opened it.
const menu = document.getElementById("talk-menu");

function aim(row) {
  for (const field of menu.querySelectorAll("[name=session]")) field.value = row.dataset.key;
}

document.addEventListener("click", (event) => {
  const row = event.target.closest?.("[popovertarget=talk-menu]")?.closest("[data-key]");
  if (row) aim(row);
}, { capture: true });
document.addEventListener("contextmenu", (event) => {
  const row = event.target.closest?.("#sessions [data-key]");
  if (!row) return;
  event.preventDefault();
  aim(row);
  menu.showPopover({ source: row });
});
