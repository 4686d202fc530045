// The page Canvas: shows what the hub says is on it, answers what the hub asks, and sends the buttons that are pressed.
import { draw } from "./a2ui.js";
import "./snapshot.js";

const AGAIN_MS = 2_000;
const TEXT_LIMIT = 20_000;
const place = document.getElementById("canvas");
const frame = document.getElementById("canvas-frame");
const link = document.getElementById("canvas-link");
const surfaces = document.getElementById("canvas-surfaces");
const status = document.getElementById("canvas-status");
const { agent, origin } = place.dataset;
const asked = new Map(); // id → what the frame was asked, and who waits for the answer
let socket;
let shown = "";

frame.style.cssText = "width: 100%; height: 70vh; border: 0; background: white";

function show(state) {
  const source = state.visible && state.src ? `${origin}${state.src}?${state.loads}` : "";
  if (source !== shown) {
    shown = source;
    if (source) frame.src = source;
    else frame.removeAttribute("src");
  }
  frame.hidden = !source;
  link.hidden = !(state.visible && state.url);
  link.querySelector("a").textContent = state.url;
  link.querySelector("a").href = state.url || "#";
  draw(state.surfaces, surfaces, `${origin}${state.base}`, press);
  document.getElementById("canvas-empty").hidden = !frame.hidden || !link.hidden || state.surfaces.length > 0;
}

async function press(surface, component, values) {
  status.textContent = "";
  const answer = await fetch("/canvas/press", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify({ agent, surface, component, values }),
  }).catch(() => ({ ok: false }));
  const accepted = answer.ok && (await answer.json()).accepted;
  status.textContent = accepted ? place.dataset.sent : place.dataset.failed;
}

function inFrame(question) {
  return new Promise((resolve) => {
    asked.set(question.id, { question, resolve });
    put(question);
  });
}

function put({ id, what, script }) {
  frame.contentWindow.postMessage({ canvas: id, what, script }, "*");
}

frame.addEventListener("load", () => asked.forEach(({ question }) => put(question))); // the page before it is gone

async function answer(question) {
  const filled = surfaces.innerText.slice(0, TEXT_LIMIT);
  if (!frame.hidden) {
    const found = await inFrame(question);
    return question.what === "eval" || !filled ? found : { ...found, value: `${found.value}\n\n${filled}` };
  }
  if (question.what === "eval") return { ok: false, value: "no page is shown: a script runs in a page, not in a surface" };
  return { ok: true, value: filled, image: filled ? await globalThis.pictureOf(surfaces).catch(() => "") : "" };
}

addEventListener("message", (event) => {
  if (event.source !== frame.contentWindow || !asked.has(event.data?.canvas)) return;
  const { canvas, ok, value, image } = event.data;
  asked.get(canvas).resolve({ ok: ok === true, value: String(value ?? ""), image: String(image ?? "") });
  asked.delete(canvas);
});

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/canvas/live?agent=${encodeURIComponent(agent)}`);
  socket.addEventListener("message", async (event) => {
    const said = JSON.parse(event.data);
    if (said.t === "show") {
      show(said);
      place.dataset.live = "on";
      return;
    }
    const found = await answer(said).catch((error) => ({ ok: false, value: String(error) }));
    socket.send(JSON.stringify({ id: said.id, ...found }));
  });
  socket.addEventListener("close", () => {
    place.dataset.live = "off";
    setTimeout(connect, AGAIN_MS * (0.5 + Math.random()));
  });
}

connect();
