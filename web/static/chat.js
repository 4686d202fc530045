// The chat page: sending never blocks, what is typed or sent is kept until the hub has it, and Stop is always near.
import { attaches, crossed } from "./attach.js";
import { completes } from "./commands.js";
import { live, morph } from "./live.js";
import "./talks.js";
import { announce, t } from "./texts.js";
import { toast } from "./ui.js";

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
box.addEventListener("input", () => { returned = null; store(DRAFT, box.value); grow(); });
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  composer.requestSubmit(event.altKey && running() ? composer.querySelector(".while-working") : undefined);
});

const attached = attaches(box, document.querySelector(".conversation"), intoBox);

// -- what is sent: kept until the conversation shows it ----------------------------------------------------------------

const outbox = stored(OUTBOX, []);
let returned = null; // what came back into the box since it was last typed in
let sending = false;
let retry = 0;

function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is hidden on plain http
  return `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = box.value.trim();
  if (!text && !attached.files.length) return;
  send(text, !running() ? "" : event.submitter?.value === "collect" ? "collect" : "steer", attached.take());
  box.value = "";
  store(DRAFT, null);
  grow();
  box.focus();
});

log.addEventListener("submit", (event) => { // a suggestion, or to say something again
  if (event.target.getAttribute("action") !== "/chat/send") return;
  event.preventDefault();
  send(event.submitter.value);
});

log.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-edit], [data-speak]");
  if (!button) return;
  if (button.dataset.edit !== undefined) {
    intoBox(button.dataset.edit);
    box.focus();
  } else readAloud(button.closest("article"));
});

function readAloud(turn) {
  const voice = globalThis.speechSynthesis;
  if (!voice) return toast(t("This browser cannot read aloud."));
  const wasSpeaking = voice.speaking;
  voice.cancel();
  if (wasSpeaking) return;
  voice.speak(new SpeechSynthesisUtterance([...turn.querySelectorAll(".text")].map((part) => part.innerText).join("\n")));
}

/** Say something. mode: how it waits while the agent works; files: pictures, which no reload keeps. */
function send(text, mode = "", files = []) {
  outbox.push({ key: freshKey(), text, mode, files, sent: false });
  keep();
  scroll();
  flush();
}

function keep() {
  store(OUTBOX, outbox.map(({ key, text, mode }) => ({ key, text, mode, sent: false })));
  waiting.replaceChildren(...outbox.map((item) => {
    const line = document.createElement("li");
    line.className = "chip";
    line.dir = "auto";
    line.append(item.text || item.files?.map((file) => file.fileName).join(", "));
    if (item.sent && !item.gone) line.append(crossed(t("Take back: {text}", { text: item.text }), () => takeBack(item)));
    if (item.error) {
      const why = document.createElement("small");
      why.className = "danger";
      why.textContent = ` ${item.error}`;
      line.append(why);
    }
    return line;
  }));
  waiting.hidden = outbox.length === 0;
}

/** Take a message that waits out of the queue. */
async function takeBack(item) {
  item.gone = true;
  const { ok } = await post("/chat/abort", { session, waiting: item.key, running: "no" }).catch(() => ({}));
  if (!ok) { item.gone = false; toast(t("The hub cannot be reached right now.")); }
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
      const answer = await post("/chat/send", { session, key: item.key, text: item.text, mode: item.mode || "", attachments: item.files ?? [] });
      if (answer.ok) {
        item.sent = true;
        keep();
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
  if (item.gone) return;
  returned ??= { texts: [], typed: box.value };
  returned.texts.push(item.text);
  box.value = "";
  intoBox([...returned.texts, returned.typed].filter(Boolean).join("\n"));
  attached.give(item.files ?? []);
}

function intoBox(text) {
  box.value = [text, box.value].filter(Boolean).join("\n");
  store(DRAFT, box.value);
  grow();
}

async function post(path, fields) {
  const response = await fetch(path, {
    method: "POST",
    body: fields instanceof FormData ? new URLSearchParams(fields) : JSON.stringify(fields),
    headers: { Accept: "application/json", ...(fields instanceof FormData ? {} : { "Content-Type": "application/json" }) },
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
  try { await post("/chat/abort", { session, waiting: outbox.filter((item) => item.sent).map((item) => item.key).join(" ") }); } finally { button.disabled = false; }
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "stop") return;
  event.preventDefault();
  stop().catch(() => announce(t("The hub cannot be reached right now.")));
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open], [popover=auto]:popover-open, [popover='']:popover-open")) return;
  if (running()) stop().catch(() => announce(t("The hub cannot be reached right now.")));
  else if (beside()) panel.hidePopover();
  else return;
  event.preventDefault();
});

// -- talk: what is said goes into this conversation, the answer is read out --------------------------------------------

document.querySelector("[data-talk]").addEventListener("click", async () => {
  try {
    const { talk } = await import("/talk/talk.js");
    const params = { sessionKey: session, language: document.documentElement.lang };
    const ask = async () => {
      const { ok, body } = await post("/api/rpc", { method: "talk.open", params });
      if (!ok) throw new Error(body.message);
      return body.payload;
    };
    await talk({ ask, help: "/devices/voice" });
  } catch (error) {
    toast(error.message || t("The hub cannot be reached right now."));
  }
});

// -- details: beside the conversation where there is room, and there it stays open; elsewhere a sheet -------------------

const panel = document.getElementById("details");
const PANEL = "homarus:details";
const wide = matchMedia("(min-width: 1200px)");
const beside = () => wide.matches && panel.matches(":popover-open");
let answered = false; // since the panel was made

function placePanel() {
  panel.popover = wide.matches ? "manual" : "auto";
  if (wide.matches && stored(PANEL, false)) panel.showPopover();
}
placePanel();
wide.addEventListener("change", placePanel);
panel.addEventListener("toggle", ({ newState }) => {
  if (wide.matches) store(PANEL, newState === "open" || null);
  if (newState === "open") refreshPanel();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "." || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  panel.togglePopover();
});

/** Show what the conversation has used by now; what is being typed into the panel stays. */
async function refreshPanel() {
  if (!answered || !panel.matches(":popover-open")) return;
  answered = false;
  const response = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!response?.ok) return; // the next answer asks again
  const now = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("details-now");
  if (now) morph("details-now", now.outerHTML);
}

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
  if (turn?.dataset.role !== "assistant") return;
  const text = [...turn.querySelectorAll(":scope > .body > .text")].map((part) => part.textContent).join(" ");
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
  if (!frame.done) return;
  speak(frame.id, true);
  answered = true;
  refreshPanel();
});

live.on("parts", (frame) => {
  if (frame.session !== session) return;
  keepingPlace(() => {
    document.getElementById(`${frame.turn}-end`)?.remove();
    for (const [id, parent, html] of frame.items) {
      if (morph(id, html)) continue;
      const place = document.getElementById(parent);
      if (place) append(place.querySelector(":scope > .body") ?? place, html);
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
