// Customise Home, on itself and on its page: what was dragged is kept at once, and the buttons of the rows follow.
import { ready } from "./sort.js";
import { t } from "./texts.js";
import { toast } from "./ui.js";

let latest = 0;

document.addEventListener("sorted", async ({ detail: [left, right] }) => {
  const turn = ++latest;
  try {
    const response = await fetch("/customise/order", {
      method: "POST", body: new URLSearchParams({ left: left.join(), right: right.join() }), headers: { Accept: "application/json" },
    });
    if (!response.ok) throw new Error((await response.json()).error?.message);
    const order = document.getElementById("order");
    if (!order) return; // on Home the cards themselves were moved
    const page = await (await fetch(location.href, { headers: { Accept: "text/html" } })).text();
    if (turn !== latest) return; // it was put elsewhere meanwhile
    const held = document.activeElement?.dataset.grip;
    order.replaceWith(new DOMParser().parseFromString(page, "text/html").getElementById("order"));
    ready();
    [...document.querySelectorAll("[data-grip]")].find((grip) => grip.dataset.grip === held)?.focus();
  } catch (error) {
    toast(error instanceof TypeError ? t("The hub cannot be reached right now.") : error.message);
  }
});
