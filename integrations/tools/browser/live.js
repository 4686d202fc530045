// The live view: draws the pictures that the hub gives, and sends the mouse and the keyboard of whoever took over.
const root = document.getElementById("live-browser");
const screen = document.getElementById("live-screen");
const form = document.getElementById("live-open");
const state = document.getElementById("live-state");
const error = document.getElementById("live-error");
const profile = root.dataset.profile;
let taken = false;
let sending = Promise.resolve();
let moved = 0;

function show(answer) {
  taken = Boolean(answer.person);
  root.querySelector("[data-kind=take]").hidden = taken;
  root.querySelector("[data-kind=give]").hidden = !taken;
  const text = taken ? root.dataset.taken.replace("{who}", answer.person) : root.dataset.watching;
  state.textContent = answer.running === false ? root.dataset.stopped : text;
  if (answer.url && document.activeElement !== form.elements.url) form.elements.url.value = answer.url;
}

/** Send one thing after the other, so that letters keep their order. */
function send(kind, more = {}) {
  sending = sending.then(async () => {
    const answer = await fetch("/browser/input", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ profile, kind, ...more }),
    });
    const data = await answer.json();
    error.textContent = answer.ok ? "" : data.error.message;
    if (answer.ok) show(data);
  }).catch((failure) => { error.textContent = String(failure); });
  return sending;
}

function place(event) {
  const box = screen.getBoundingClientRect();
  const share = (value, size) => Math.min(1, Math.max(0, value / size));
  return { x: share(event.clientX - box.left, box.width), y: share(event.clientY - box.top, box.height) };
}

const BUTTONS = ["left", "middle", "right"];
for (const kind of ["down", "up"])
  screen.addEventListener(`pointer${kind}`, (event) => {
    if (taken) send(kind, { ...place(event), button: BUTTONS[event.button] ?? "left" });
  });
screen.addEventListener("pointermove", (event) => {
  if (!taken || event.timeStamp - moved < 100) return;
  moved = event.timeStamp;
  send("move", place(event));
});
screen.addEventListener("contextmenu", (event) => taken && event.preventDefault());
screen.addEventListener("wheel", (event) => {
  if (!taken) return;
  event.preventDefault();
  send("wheel", { dx: event.deltaX, dy: event.deltaY });
}, { passive: false });
screen.addEventListener("keydown", (event) => {
  if (!taken || ["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
  event.preventDefault();
  const held = [event.ctrlKey && "Control", event.altKey && "Alt", event.metaKey && "Meta"].filter(Boolean);
  if (event.key.length === 1 && !held.length) send("text", { text: event.key });
  else send("key", { text: [...held, ...(event.shiftKey ? ["Shift"] : []), event.key].join("+") });
});
screen.addEventListener("paste", (event) => taken && send("text", { text: event.clipboardData.getData("text") }));
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!taken) await send("take");
  send("open", { text: form.elements.url.value });
});
form.elements.profile.addEventListener("change", (event) => {
  location.search = new URLSearchParams({ profile: event.target.value });
});
for (const button of root.querySelectorAll("[data-kind]"))
  button.addEventListener("click", () => send(button.dataset.kind));

let number = 0;
for (;;) {
  try {
    const answer = await fetch(`/browser/frame?${new URLSearchParams({ profile, after: number })}`);
    const data = await answer.json();
    if (!answer.ok) throw new Error(data.error.message);
    show(data);
    number = data.number;
    if (data.image) {
      const bytes = Uint8Array.from(atob(data.image), (letter) => letter.charCodeAt(0));
      const picture = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
      screen.width = picture.width;
      screen.height = picture.height;
      screen.getContext("2d").drawImage(picture, 0, 0);
    }
  } catch (failure) {
    error.textContent = String(failure);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
}
