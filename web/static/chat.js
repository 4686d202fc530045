// The chat page: sending never blocks, what is typed or sent is kept until the hub has it, and Stop is always near.
import { completes } from "./commands.js";
import { live, morph } from "./live.js";
import { announce, t } from "./texts.js";

const log = document.getElementById("log");
const composer = document.getElementById("composer");
const box = document.getElementById("message");
const waiting = document.getElementById("waiting");
const session = document.querySelector(".conversation").dataset.session;
const DRAFT = `homarus:draft:${session}`;
const OUTBOX = `homarus:outbox:${session}`;
const RETRY_MS = 3_000;
const NEAR_PX = 120;

// -- what is typed ----------------------------------------------------------------------------------------------------

const stored = (key, fallback) => {
  try { return JSON.parse(localStorage.getItem(key)) ?? fallback; } catch { return fallback; }
};
const store = (key, value) => {
  try {
    if (value === null || value.length === 0) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch { /* a full or forbidden store costs only what a reload would lose */ }
};

function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + 2}px`;
}

completes(box, document.getElementById("completions"));
box.value ||= stored(DRAFT, "");
box.addEventListener("input", () => { store(DRAFT, box.value); grow(); });
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  composer.requestSubmit();
});

// -- what is sent: kept until the conversation shows it ----------------------------------------------------------------

const outbox = stored(OUTBOX, []);
let sending = false;
let retry = 0;

function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is hidden on plain http
  return `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = box.value.trim();
  if (!text) return;
  send(text);
  box.value = "";
  store(DRAFT, null);
  grow();
  box.focus();
});

log.addEventListener("submit", (event) => { // the suggestions of an empty conversation
  if (!event.submitter?.value) return;
  event.preventDefault();
  send(event.submitter.value);
});

function send(text) {
  outbox.push({ key: freshKey(), text, sent: false });
  keep();
  scroll();
  flush();
}

function keep() {
  store(OUTBOX, outbox.map(({ key, text }) => ({ key, text, sent: false })));
  waiting.replaceChildren(...outbox.map((item) => {
    const line = document.createElement("li");
    line.dir = "auto";
    line.textContent = item.text;
    if (item.error) {
      const why = document.createElement("small");
      why.className = "error";
      why.textContent = ` ${item.error}`;
      line.append(why);
    }
    return line;
  }));
  waiting.hidden = outbox.length === 0;
}

/** Forget what the conversation shows by now. */
function settle() {
  const left = outbox.filter((item) => !document.getElementById(`t-u-${item.key}`));
  if (left.length === outbox.length) return;
  outbox.splice(0, outbox.length, ...left);
  keep();
}

async function flush() {
  if (sending) return;
  sending = true;
  clearTimeout(retry);
  try {
    for (const item of [...outbox]) {
      if (item.sent || item.error) continue;
      const answer = await post("/chat/send", { session, key: item.key, text: item.text });
      if (answer.ok) {
        item.sent = true;
        if (answer.body.state === "dropped") giveBack(item);
        else if (answer.body.state === "done") forget(item);
      } else if (answer.status >= 400 && answer.status < 500 && ![401, 408, 429].includes(answer.status)) refuse(item, answer);
      else throw new Error(answer.body.message || String(answer.status));
    }
  } catch {
    retry = setTimeout(flush, RETRY_MS); // the hub is away for a moment; the same key is never answered twice
  } finally {
    sending = false;
    if (outbox.some((item) => !item.sent && !item.error)) {
      clearTimeout(retry);
      retry = setTimeout(flush, RETRY_MS);
    }
  }
}

function forget(item) {
  outbox.splice(outbox.indexOf(item), 1);
  keep();
}

function refuse(item, answer) {
  item.error = answer.body.message || t("The message was refused.");
  keep();
  outbox.splice(outbox.indexOf(item), 1);
  store(OUTBOX, outbox);
  intoBox(item.text);
}

/** Put a message that nobody answers back into the box, before what is being written: no words are lost. */
function giveBack(item) {
  if (!outbox.includes(item)) return;
  forget(item);
  intoBox(item.text);
}

function intoBox(text) {
  box.value = [text, box.value].filter(Boolean).join("\n");
  store(DRAFT, box.value);
  grow();
}

async function post(path, fields) {
  const response = await fetch(path, {
    method: "POST",
    body: new URLSearchParams(fields),
    headers: { Accept: "application/json" },
    redirect: "manual",
  });
  const body = await response.json().catch(() => ({}));
  return { ok: response.ok, status: response.status, body: body.error || body };
}

// -- stop ---------------------------------------------------------------------------------------------------------------

const running = () => { const state = document.getElementById("run-state"); return state && !state.hidden ? state : null; };

async function stop() {
  const button = running()?.querySelector("button");
  if (!button) return;
  button.disabled = true;
  try { await post("/chat/abort", { session }); } finally { button.disabled = false; }
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "run-state") return;
  event.preventDefault();
  stop().catch(() => announce(t("The hub cannot be reached right now.")));
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]") || !running()) return;
  event.preventDefault();
  stop().catch(() => announce(t("The hub cannot be reached right now.")));
});

// -- what arrives -------------------------------------------------------------------------------------------------------

const near = () => log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_PX;
function scroll() { log.scrollTop = log.scrollHeight; }

function keepingPlace(change) {
  const follow = near();
  change();
  settle();
  if (follow) scroll();
}

function append(parent, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  parent.append(template.content);
}

const spoken = new Map(); // turn id → characters announced
function speak(id, whole) {
  const turn = document.getElementById(id);
  if (!turn?.classList.contains("assistant")) return;
  const text = [...turn.querySelectorAll(":scope > .text")].map((part) => part.textContent).join(" ");
  const from = spoken.get(id) ?? 0;
  const rest = text.slice(from);
  const end = whole ? rest.length : Math.max(...[...".!?。！？\n"].map((mark) => rest.lastIndexOf(mark))) + 1;
  if (end <= 0) return;
  spoken.set(id, from + end);
  announce(rest.slice(0, end).trim());
}

live.on("turn", (frame) => {
  if (frame.session !== session) return;
  keepingPlace(() => {
    document.getElementById("log-empty")?.remove();
    if (!morph(frame.id, frame.html)) append(log, frame.html);
    // A run announces itself before what it answers is stored: the question stands above its answer.
    if (frame.above) document.getElementById(frame.above)?.before(document.getElementById(frame.id));
  });
  if (frame.done) speak(frame.id, true);
});

live.on("parts", (frame) => {
  if (frame.session !== session) return;
  keepingPlace(() => {
    document.getElementById(`${frame.turn}-end`)?.remove();
    for (const [id, parent, html] of frame.items) {
      if (morph(id, html)) continue;
      const place = document.getElementById(parent);
      if (place) append(place, html);
    }
  });
  speak(frame.turn, false);
});

live.on("settled", (frame) => {
  const item = frame.session === session && outbox.find((each) => each.key === frame.key);
  if (!item) return;
  if (frame.back) giveBack(item);
  else forget(item);
});

live.on("html", (frame) => {
  if (frame.id === "log") keepingPlace(() => {});
  if (frame.id === "sessions") markSession();
});
live.on("hello", () => flush());

/** Mark the conversation that is open, and show its name: the list is the same for all tabs. */
function markSession() {
  for (const link of document.querySelectorAll("#sessions a")) {
    const open = new URL(link.href).searchParams.get("session") === session;
    if (!open) { link.removeAttribute("aria-current"); continue; }
    link.setAttribute("aria-current", "true");
    const title = document.getElementById("chat-title");
    const name = link.querySelector(".name").textContent.trim();
    if (title.textContent !== name) document.title = document.title.replace(/^.*(?= · )/, name);
    title.textContent = name;
  }
}

markSession();
keep();
settle();
grow();
scroll();
flush();
