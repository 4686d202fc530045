// A guest's chat: what is written is kept here until the hub shows it, and sent again after every lost connection.
const main = document.querySelector("main");
const [log, draft, scroller, state, composer, box, who, chosen, picker, attach, record] =
  ["log", "draft", "scroll", "state", "composer", "message", "name", "chosen", "picker", "attach", "record"]
    .map((id) => document.getElementById(id));
const texts = JSON.parse(main.dataset.texts);
const KEPT = `homarus:${location.pathname}`;
const WRITING_MS = 8_000;
const LONGEST_WAIT_MS = 15_000;
const PENDING_LIMIT = 20;
const FILES_LIMIT = Number(main.dataset.files);
const RECORDING_LIMIT_S = 300;
const FILE_ICON = "M6 3h8l4 4v14H6zM14 3v4h4";
const VOICE_ICON = "M4 10v4M8 7v10M12 4v16M16 8v8M20 10v4";

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

function mine({ id, text, pending, lost, files = [] }) {
  const line = element("div", { className: "mine" },
    element("span", { className: "unseen", textContent: `${texts.you}: ` }), element("p", { textContent: text }));
  if (files.length) line.append(element("ul", { className: "files" }, ...files.map((file, number) => sent(file, held.get(id)?.[number]))));
  if (pending || lost) line.append(element("small", { textContent: lost ? texts.lost : texts.waiting }));
  return line;
}

function sent(file, picked) {
  const shown = element("li", {}, ...described(file, picked));
  if (file.problem) {
    shown.className = "refused";
    shown.append(element("span", { className: "why", textContent: filled(texts[file.problem], { mb: file.limit_mb }) }));
  }
  return shown;
}

function described({ name, size, voice }, picked) {
  return [
    picked?.url ? element("img", { src: picked.url, alt: "" }) : icon(voice ? VOICE_ICON : FILE_ICON),
    element("span", { textContent: voice ? texts.voice : name }), element("small", { textContent: sized(size) }),
  ];
}

function icon(path) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("viewBox", "0 0 24 24");
  made.setAttribute("aria-hidden", "true");
  made.append(document.createElementNS(made.namespaceURI, "path"));
  made.firstChild.setAttribute("d", path);
  return made;
}

function filled(text, values) { return text.replace(/\{(\w+)\}/g, (_, name) => values[name]); }

function sized(bytes) {
  const [unit, size] = bytes < 1e6 ? ["kilobyte", Math.ceil(bytes / 1e3)] : ["megabyte", bytes / 1e6];
  return new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit, maximumSignificantDigits: 2 }).format(size);
}

function ours({ id, html, buttons = [], file }) {
  const turn = element("div", { className: "ours", innerHTML: html }); // made by the hub, where all text is escaped
  for (const link of turn.querySelectorAll("a")) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  if (file) {
    turn.append(file.sound ? element("audio", { controls: true, src: file.url, title: file.name, preload: "none" })
      : element("a", { className: "file", href: file.url, target: "_blank", rel: "noopener" },
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
  async want({ id, file, from, to }) {
    const [hub, blob] = [socket, held.get(id)?.[file]?.file];
    let piece = new ArrayBuffer(0);
    try { if (blob) piece = await blob.slice(from, to).arrayBuffer(); } catch { /* it was changed or deleted since */ }
    if (hub.readyState === WebSocket.OPEN) hub.send(piece);
    const waiting = document.querySelector(`#m-${id} > small`);
    if (waiting && blob) waiting.textContent = filled(texts.sending, { percent: Math.round(to / blob.size * 100) });
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

function say({ id, text, files, press }) {
  if (welcomed && socket.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify(press ? { t: "press", id, ...press } : { t: "say", id, text, name: kept.name, files }));
  }
}

function press(message, value) {
  const item = { id: fresh(), press: { message, value } };
  kept.pending.push(item);
  keep();
  say(item);
}

// -- files: they stay in this page until the hub has asked for all of them ------------------------------------------------

const held = new Map();
let picked = [];

function pick(files, voice = false) {
  const more = [...files].slice(0, FILES_LIMIT - picked.length);
  if (more.length < files.length) state.textContent = filled(texts.many, { count: FILES_LIMIT });
  for (const file of more) {
    const url = /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : null;
    picked.push({ file, url, name: file.name, size: file.size, type: file.type, voice });
  }
  showPicked();
  box.focus();
}

function showPicked() {
  chosen.replaceChildren(...picked.map((each) => {
    const label = filled(texts.remove, { name: each.voice ? texts.voice : each.name });
    return element("li", {}, ...described(each, each), element("button", {
      type: "button", ariaLabel: label, title: label, textContent: "×",
      onclick: () => { picked = picked.filter((other) => other !== each); showPicked(); box.focus(); },
    }));
  }));
  chosen.hidden = !picked.length;
}

attach.addEventListener("click", () => picker.click());
picker.addEventListener("change", () => { pick(picker.files); picker.value = ""; });
box.addEventListener("paste", (event) => {
  if (!event.clipboardData.files.length) return;
  event.preventDefault();
  pick(event.clipboardData.files);
});
for (const name of ["dragover", "dragleave", "drop"]) {
  main.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    composer.classList.toggle("dragging", name === "dragover");
    if (name === "drop") pick(event.dataTransfer.files);
  });
}

let recorder = null;
record.hidden = !(navigator.mediaDevices && window.MediaRecorder); // browsers have none on plain http
record.addEventListener("click", async () => {
  if (recorder) { recorder.stop(); return; }
  record.disabled = true; // while the browser asks
  try {
    recorder = new MediaRecorder(await navigator.mediaDevices.getUserMedia({ audio: true }));
  } catch { state.textContent = texts.silent; return; } finally { record.disabled = false; }
  const [pieces, begun] = [[], Date.now()];
  const tick = setInterval(() => {
    const s = Math.floor((Date.now() - begun) / 1_000);
    state.textContent = filled(texts.recording, { time: `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}` });
    if (s >= RECORDING_LIMIT_S && recorder?.state === "recording") recorder.stop();
  }, 250);
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  recorder.onstop = () => {
    const type = recorder.mimeType.split(";")[0];
    for (const track of recorder.stream.getTracks()) track.stop();
    clearInterval(tick);
    recorder = null;
    recordLooks(false);
    state.textContent = "";
    pick([new File(pieces, `voice.${type.split("/")[1] || "webm"}`, { type })], true);
  };
  recorder.start();
  recordLooks(true);
});

function recordLooks(on) {
  record.ariaPressed = on;
  record.ariaLabel = record.title = on ? texts.stop : texts.record;
}

// -- what is written -----------------------------------------------------------------------------------------------------

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = box.value.trim();
  if (!(text || picked.length) || kept.pending.length >= PENDING_LIMIT) return;
  const item = { id: fresh(), text, files: picked.map(({ name, size, type, voice }) => ({ name, size, type, voice })) };
  if (picked.length) held.set(item.id, picked);
  picked = [];
  showPicked();
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
for (const item of kept.pending) if (!item.press) show({ ...item, pending: true, lost: item.files?.length });
kept.pending = kept.pending.filter((item) => !item.files?.length); // what it was to send went with the page before
connect();
