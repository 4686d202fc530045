// A guest's chat: what is written is kept here until the hub shows it, and sent again after every lost connection.
const main = document.querySelector("main");
const [log, draft, scroller, state, composer, box, who] =
  ["log", "draft", "scroll", "state", "composer", "message", "name"].map((id) => document.getElementById(id));
const texts = JSON.parse(main.dataset.texts);
const KEPT = `homarus:${location.pathname}`;
const WRITING_MS = 8_000;
const LONGEST_WAIT_MS = 15_000;
const PENDING_LIMIT = 20;

// -- what this browser keeps: the visitor's token and name, and what the hub does not have yet ---------------------------

const kept = { token: null, name: "", pending: [] };
try { Object.assign(kept, JSON.parse(localStorage.getItem(KEPT))); } catch { /* a frame may be kept from storing */ }
function keep() {
  try { localStorage.setItem(KEPT, JSON.stringify(kept)); } catch { /* then a reload begins a new visit */ }
}

// -- what is shown -------------------------------------------------------------------------------------------------------

function element(name, fields = {}, ...children) {
  const made = Object.assign(document.createElement(name), fields);
  made.append(...children);
  return made;
}

function show(item) {
  const near = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 120;
  const shown = document.getElementById(`m-${item.id}`);
  const made = item.html === undefined ? mine(item) : ours(item);
  made.id = `m-${item.id}`;
  made.dir = "auto";
  if (!shown) log.append(made);
  else if (shown.outerHTML !== made.outerHTML) shown.replaceWith(made);
  if (near || item.html === undefined) scroller.scrollTop = scroller.scrollHeight;
}

function mine({ text, pending }) {
  const line = element("div", { className: "mine" },
    element("span", { className: "unseen", textContent: `${texts.you}: ` }), element("p", { textContent: text }));
  if (pending) line.append(element("small", { textContent: texts.waiting }));
  return line;
}

function ours({ id, html, buttons = [], file }) {
  const turn = element("div", { className: "ours", innerHTML: html }); // made by the hub, where all text is escaped
  for (const link of turn.querySelectorAll("a")) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  if (file) {
    turn.append(element("a", { className: "file", href: file.url, target: "_blank", rel: "noopener" },
      file.picture ? element("img", { src: file.url, alt: file.name }) : file.name));
  }
  for (const row of buttons) {
    turn.append(element("div", { className: "buttons" }, ...row.map(({ label, value }) =>
      element("button", { type: "button", textContent: label, onclick: () => press(id, value) }))));
  }
  return turn;
}

let quiet = 0;
function write(html) {
  clearTimeout(quiet);
  draft.hidden = html === null;
  if (html === null) return;
  draft.innerHTML = html || "";
  if (!html) draft.textContent = texts.writing;
  quiet = setTimeout(write, WRITING_MS, null);
  scroller.scrollTop = scroller.scrollHeight;
}

// -- the connection ------------------------------------------------------------------------------------------------------

let socket = null;
let failures = 0;
let welcomed = false;

function connect() {
  state.textContent = texts.connecting;
  socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}${location.pathname}`);
  socket.onopen = () => socket.send(JSON.stringify({ t: "hello", token: kept.token }));
  socket.onmessage = ({ data }) => { const frame = JSON.parse(data); take[frame.t]?.(frame); };
  socket.onclose = () => {
    welcomed = false;
    state.textContent = texts.connecting;
    const wait = Math.min(LONGEST_WAIT_MS, 800 * 2 ** failures++);
    setTimeout(connect, wait * (0.75 + Math.random() / 2));
  };
}

const take = {
  welcome({ token, history }) {
    [failures, welcomed, state.textContent] = [0, true, ""];
    kept.token = token;
    for (const item of history) { settle(item.id); show(item); }
    keep();
    for (const item of kept.pending) say(item);
    document.documentElement.dataset.ready = "";
  },
  message(item) {
    settle(item.id);
    keep();
    if (item.html !== undefined) write(null);
    show(item);
  },
  draft: ({ html }) => write(html),
  pressed({ id, notice }) {
    settle(id);
    keep();
    state.textContent = notice;
  },
  typing: () => { if (draft.hidden) write(""); },
  again({ id, after_s: seconds, error }) {
    if (error === "LIMIT_EXCEEDED") state.textContent = texts.slow;
    setTimeout(() => {
      state.textContent = welcomed ? "" : texts.connecting;
      for (const item of kept.pending) if (item.id === id) say(item);
    }, seconds * 1_000);
  },
};

function settle(id) { kept.pending = kept.pending.filter((item) => item.id !== id); }

function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is hidden on plain http
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function say({ id, text, press }) {
  if (welcomed && socket.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify(press ? { t: "press", id, ...press } : { t: "say", id, text, name: kept.name }));
  }
}

function press(message, value) {
  const item = { id: fresh(), press: { message, value } };
  kept.pending.push(item);
  keep();
  say(item);
}

// -- what is written -----------------------------------------------------------------------------------------------------

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = box.value.trim();
  if (!text || kept.pending.length >= PENDING_LIMIT) return;
  const item = { id: fresh(), text };
  if (who.value.trim()) kept.name = who.value.trim();
  kept.pending.push(item);
  keep();
  show({ ...item, pending: true });
  say(item);
  box.value = "";
  who.parentElement.hidden = true;
  box.focus();
});
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  composer.requestSubmit();
});

who.value = kept.name;
who.parentElement.hidden = Boolean(kept.name);
for (const item of kept.pending) if (!item.press) show({ ...item, pending: true });
connect();
