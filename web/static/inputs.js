// Comfort for forms made from selectors: sliders beside numbers, and another empty field where many may stand.
for (const slider of document.querySelectorAll("[data-slider-of]")) {
  const number = document.getElementById(slider.dataset.sliderOf);
  slider.hidden = false;
  slider.addEventListener("input", () => { number.value = slider.value; });
  number.addEventListener("input", () => { if (number.value !== "") slider.value = number.value; });
}

for (const many of document.querySelectorAll("[data-many]")) {
  many.addEventListener("input", () => {
    const last = many.querySelector("input:last-of-type");
    if (!last.value) return;
    const next = last.cloneNode();
    next.value = "";
    const label = last.getAttribute("aria-label");
    next.setAttribute("aria-label", label.replace(/\d+$/, (count) => Number(count) + 1));
    many.append(next);
  });
}
