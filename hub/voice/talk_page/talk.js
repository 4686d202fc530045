// A talk: the microphone's sound goes to the hub over a socket of its own, what the hub says is played here.
// The dashboard's chat and the phone's page open it; it ends when its tab is hidden or closed.
const FREE = "homarus:talk:free";
const QUIETEST = 0.004; // of the level that the meter shows
const REWIND_S = 0.3; // what goes on after a pause begins so much before it

const SHAPES = {
  mic: "M12 3a3 3 0 0 0-3 3v6a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM5 11v1a7 7 0 0 0 14 0v-1M12 19v3",
  muted: "M3 3l18 18M9 9v3a3 3 0 0 0 5 2.200M15 9.500V6a3 3 0 0 0-5.800-1M5 11v1a7 7 0 0 0 11.500 5.300M19 11v1a7 7 0 0 1-.4 2.300M12 19v3",
  close: "M6 6l12 12M18 6L6 18",
};

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

function made(tag, className, more = {}) {
  return Object.assign(document.createElement(tag), { className, ...more });
}

const stored = () => { try { return localStorage.getItem(FREE) !== "no"; } catch { return true; } };
const store = (free) => { try { localStorage.setItem(FREE, free ? "yes" : "no"); } catch { /* it is chosen again next time */ } };

let open = null;
let style = null;

/** Load the style with the first talk. */
function styled() {
  return style ??= new Promise((resolve) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/talk/talk.css", onload: resolve, onerror: resolve });
    document.head.append(link);
  });
}

/**
 * Open a talk, or end the one that is open.
 *
 * ask: returns what `talk.open` answers. help: the address where voice is set up, or nothing. heard: gets what was
 * understood. closed: called at its end.
 */
export function talk({ ask, help = "", heard = () => {}, closed = () => {} }) {
  if (open) return open.end();
  open = new Talk(ask, help, heard, () => { open = null; closed(); });
  return open.start();
}

class Talk {
  constructor(ask, help, heard, closed) {
    Object.assign(this, { ask, help, heard, closed, state: "opening", free: stored(), muted: false, holding: false });
    this.queue = []; // sentences with their recordings, that are not played yet
    this.playing = null;
    this.paused = this.hearing = false;
    this.before = null; // the words that the words so far stand in for
    this.last = { n: 0, part: 1 };
    this.texts = {};
    this.focused = document.activeElement;
  }

  say(name, values = {}) {
    return (this.texts[name] ?? "").replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
  }

  // -- opening and ending -------------------------------------------------------------------------------------------

  async start() {
    try {
      this.opened = await this.ask();
    } catch (error) {
      this.closed();
      throw error;
    }
    this.texts = this.opened.texts;
    await styled();
    this.draw();
    addEventListener("pagehide", this.onHidden = () => this.end());
    document.addEventListener("visibilitychange", this.onVisible = () => document.hidden && this.end());
    document.addEventListener("keydown", this.onDown = (event) => this.pressed(event), true);
    document.addEventListener("keyup", this.onUp = (event) => event.code === "Space" && this.release(event), true);
    await this.connect();
  }

  async connect() {
    this.trouble.hidden = true;
    if (!this.opened.hears) return this.fail("deaf", this.help);
    if (!isSecureContext || !navigator.mediaDevices?.getUserMedia) return this.fail("insecure");
    this.show("asking");
    this.sound = new AudioContext({ latencyHint: "interactive" }); // here, in the press: else it may not play
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({
        audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
      });
    } catch (error) {
      this.letGo();
      return this.fail(error.name === "NotFoundError" ? "none" : "denied", "", true);
    }
    if (this.ended) return this.letGo();
    this.show("opening");
    try {
      await this.sound.audioWorklet.addModule("/talk/microphone.js");
      if (this.used) this.opened = await this.ask(); // a ticket opens one socket
    } catch (error) {
      this.letGo();
      return this.fail("refused", "", true, error.message);
    }
    if (this.ended) return this.letGo();
    this.used = true;
    const url = new URL("/talk", location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(url);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.socket.send(this.opened.ticket);
      this.send({ t: "free", on: this.free && !this.muted });
      this.hear();
      if (!this.opened.speaks) this.note(this.say("voiceless"));
    };
    this.socket.onmessage = ({ data }) => this.take(data);
    this.socket.onclose = (event) => {
      if (this.ended) return;
      this.letGo();
      this.fail(event.reason ? "refused" : "lost", "", true, event.reason);
    };
  }

  hear() {
    const microphone = new AudioWorkletNode(this.sound, "microphone");
    microphone.port.onmessage = ({ data: { samples, level } }) => {
      const isHeard = !this.muted && (this.free || this.holding);
      this.level(isHeard ? level : 0);
      if (isHeard && this.socket?.readyState === WebSocket.OPEN) this.socket.send(samples);
    };
    this.sound.createMediaStreamSource(this.stream).connect(microphone);
    this.sound.resume();
  }

  end() {
    if (this.ended) return;
    this.ended = true;
    removeEventListener("pagehide", this.onHidden);
    document.removeEventListener("visibilitychange", this.onVisible);
    document.removeEventListener("keydown", this.onDown, true);
    document.removeEventListener("keyup", this.onUp, true);
    this.letGo();
    this.panel?.remove();
    this.focused?.focus?.();
    this.closed();
  }

  letGo() {
    this.silence();
    this.holding = false;
    this.stream?.getTracks().forEach((track) => track.stop());
    this.socket && (this.socket.onclose = null);
    this.socket?.close();
    this.sound?.close().catch(() => {});
    [this.stream, this.socket, this.sound] = [null, null, null];
  }

  // -- what the hub tells -------------------------------------------------------------------------------------------

  take(data) {
    if (data instanceof ArrayBuffer) {
      const { n } = this.expected;
      // A copy of the socket's bytes: decoding takes them away.
      this.queue.push({ n, sound: this.sound.decodeAudioData(data) });
      return this.play();
    }
    const told = JSON.parse(data);
    switch (told.t) {
      case "state":
        this.toldState = told.state;
        this.show(this.now());
        break;
      case "hearing":
        this.hearing = told.on;
        if (this.paused) this.show(this.now());
        else if (this.state === "listening" || this.state === "hearing") this.show(told.on ? "hearing" : "listening");
        break;
      case "words":
        this.note("");
        this.before ??= this.you.textContent;
        this.write(told.text, true);
        break;
      case "heard":
        this.note("");
        this.before = null;
        this.answer.replaceChildren();
        this.write(told.text);
        this.heard(told.text);
        break;
      case "said":
        this.expected = told;
        this.answer.append(made("span", told.sound ? "" : "is-said", { textContent: told.text + (/[。！？；]$/.test(told.text) ? "" : " ") }));
        this.answer.lastChild.dataset.n = told.n;
        this.answer.scrollTop = this.answer.scrollHeight;
        break;
      case "pause":
        this.send({ t: "heard", ...this.pause() });
        break;
      case "resume":
        this.resume();
        break;
      case "hush":
        this.silence();
        break;
      case "silence":
        this.restore();
        if (!this.paused) this.note(this.say("silence"));
        break;
      case "waits": this.note(this.say("waits")); break;
      case "error":
        if (told.what === "hearing") this.restore();
        this.note(this.say(`error_${told.what}`, told));
        break;
    }
  }

  /** What goes on: the hub speaks from the first sentence that it has, the page from the first that sounds. */
  now() {
    if (this.paused) return this.hearing ? "hearing" : "thinking";
    if (this.playing || this.queue.length) return "speaking";
    return this.toldState === "speaking" && this.state !== "speaking" ? "thinking" : this.toldState;
  }

  /** Show what was said; words so far are quieter, and what was answered before is not their answer. */
  write(text, isSoFar = false) {
    this.you.textContent = text;
    this.you.classList.toggle("is-so-far", isSoFar);
    this.answer.hidden = isSoFar;
  }

  /** Show what was there before: what was said is nothing. */
  restore() {
    if (this.before !== null) this.write(this.before);
    this.before = null;
  }

  send(frame) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }

  // -- playing ------------------------------------------------------------------------------------------------------

  async play() {
    if (this.playing || !this.queue.length) return;
    const piece = this.playing = this.queue.shift();
    piece.buffer = await piece.sound.catch(() => null);
    if (this.playing !== piece) return;
    if (!piece.buffer) return this.played(piece);
    if (!this.paused) this.utter(piece);
  }

  /** Let a sentence sound, from where it was paused. */
  utter(piece) {
    const { sound } = this;
    this.show("speaking");
    const source = piece.source = new AudioBufferSourceNode(sound, { buffer: piece.buffer });
    source.connect(sound.destination);
    source.onended = () => piece.source === source && this.playing === piece && this.played(piece);
    const from = Math.max(0, (piece.from ?? 0) - REWIND_S);
    piece.began = sound.currentTime - from;
    source.start(0, from);
    this.mark(piece.n);
  }

  /** Return what was played last, and how much of it. */
  place() {
    const { playing } = this;
    if (playing?.buffer) {
      const seconds = playing.source ? this.sound.currentTime - playing.began : playing.from ?? 0;
      this.last = { n: playing.n, part: Math.max(0, Math.min(1, seconds / playing.buffer.duration)) };
    }
    return this.last;
  }

  /** Be silent for now: somebody speaks. */
  pause() {
    const place = this.place();
    const { playing } = this;
    if (playing?.source) {
      playing.from = place.part * playing.buffer.duration;
      const { source } = playing;
      playing.source = null;
      source.stop();
    }
    this.paused = true;
    this.show(this.now());
    return place;
  }

  /** Go on: nobody said anything. */
  resume() {
    if (!this.paused) return;
    this.paused = false;
    if (this.playing?.buffer) this.utter(this.playing);
    else this.play();
    this.show(this.now());
  }

  played(piece) {
    this.playing = null;
    this.last = { n: piece.n, part: 1 };
    this.send({ t: "played", n: piece.n });
    if (this.queue.length) this.play();
    else this.show(this.now());
  }

  /** Be silent at once; return what was played last, and how much of it. */
  silence() {
    const place = this.place();
    this.playing?.source?.stop();
    [this.playing, this.queue, this.paused] = [null, [], false];
    return place;
  }

  mark(n) {
    for (const each of this.answer.children) each.classList.toggle("is-said", Number(each.dataset.n) <= n);
  }

  // -- what is pressed ----------------------------------------------------------------------------------------------

  pressed(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (this.isBusy()) this.interrupt();
      else this.end();
    } else if (event.code === "Space" && !event.target.closest?.("input, textarea, select, [contenteditable], a, button:not(.talk-main)")) {
      event.preventDefault();
      if (!event.repeat) this.hold();
    }
  }

  isBusy() {
    return this.paused || ["speaking", "thinking"].includes(this.state);
  }

  interrupt() {
    this.send({ t: "stop", ...this.silence() });
    this.toldState = "listening";
    this.show("listening");
  }

  hold() {
    if (this.holding || !this.socket || this.muted) return;
    if (this.playing) this.send({ t: "stop", ...this.silence() });
    this.holding = true;
    this.send({ t: "hold" });
    this.show("hearing");
  }

  release(event) {
    if (!this.holding) return;
    event?.preventDefault();
    this.holding = false;
    this.send({ t: "release" });
  }

  set(free) {
    this.release();
    this.free = free;
    store(free);
    this.muted = false;
    this.send({ t: "free", on: free });
    this.show(this.state);
  }

  mute() {
    this.muted = !this.muted;
    this.send({ t: "free", on: this.free && !this.muted });
    this.show(this.state);
  }

  // -- the panel ----------------------------------------------------------------------------------------------------

  draw() {
    this.panel = made("section", "talk-panel", { tabIndex: -1 });
    this.panel.setAttribute("role", "dialog");
    this.panel.setAttribute("aria-label", this.say("title"));
    const close = made("button", "talk-end", { type: "button", title: this.say("end"), onclick: () => this.end() });
    close.setAttribute("aria-label", this.say("end"));
    close.append(icon("close"));
    const head = made("div", "talk-head");
    head.append(made("h2", "", { textContent: this.say("title") }), close);
    this.orb = made("button", "talk-orb", { type: "button", tabIndex: -1, onclick: () => this.isBusy() && this.interrupt() });
    this.orb.setAttribute("aria-hidden", "true");
    this.orb.append(made("i"), made("i"), icon("mic"));
    this.status = made("p", "talk-state");
    this.status.setAttribute("role", "status");
    this.hint = made("p", "talk-hint");
    this.meter = made("meter", "talk-level", { min: 0, max: 1, value: 0 });
    this.meter.setAttribute("aria-label", this.say("level"));
    this.you = made("p", "talk-you", { dir: "auto" });
    this.answer = made("p", "talk-answer", { dir: "auto" });
    this.told = made("p", "talk-note");
    this.told.setAttribute("role", "status");
    const words = made("div", "talk-words");
    words.append(this.you, this.answer, this.told);
    this.trouble = made("div", "talk-trouble", { hidden: true });
    this.trouble.setAttribute("role", "alert");
    this.main = made("button", "talk-main", { type: "button" });
    this.main.addEventListener("pointerdown", (event) => { if (!this.free && !event.button) { this.main.setPointerCapture(event.pointerId); this.hold(); } });
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) this.main.addEventListener(kind, () => !this.free && this.release());
    this.main.addEventListener("contextmenu", (event) => event.preventDefault());
    this.main.addEventListener("click", () => this.free && this.mute());
    this.hands = made("input", "", { type: "checkbox", checked: this.free, onchange: () => this.set(this.hands.checked) });
    this.hands.setAttribute("role", "switch");
    const label = made("label", "talk-free");
    label.append(this.hands, made("span", "", { textContent: this.say("free") }));
    this.foot = made("div", "talk-foot");
    this.foot.append(this.main, label);
    this.panel.append(head, this.orb, this.status, this.meter, this.hint, words, this.trouble, this.foot);
    document.body.append(this.panel);
    this.main.focus();
  }

  show(state) {
    this.state = state;
    if (!this.panel) return;
    const shown = this.muted && state === "listening" ? "muted" : state;
    this.panel.dataset.state = shown;
    const isLive = !["asking", "opening", "trouble"].includes(state);
    const words = shown === "listening" && !this.free ? "ready" : shown;
    if (this.status.textContent !== this.say(words)) this.status.textContent = this.say(words);
    this.hint.textContent = shown === "speaking" ? this.say("interrupt") : words === "ready" ? this.say(matchMedia("(pointer: coarse)").matches ? "ready_touch" : "ready_keys") : "";
    const main = this.free ? (this.muted ? "unmute" : "mute") : "hold";
    this.main.replaceChildren(icon(this.muted ? "muted" : "mic"), ...(this.free ? [] : [made("span", "", { textContent: this.say("hold") })]));
    this.main.title = this.say(main);
    this.main.setAttribute("aria-label", this.say(main));
    if (this.free) this.main.setAttribute("aria-pressed", String(this.muted));
    else this.main.removeAttribute("aria-pressed");
    this.main.disabled = !isLive;
    this.panel.classList.toggle("is-held", this.holding);
    this.foot.hidden = this.meter.hidden = state === "trouble";
  }

  level(level) {
    const shown = level < QUIETEST ? 0 : Math.min(1, Math.sqrt(level) * 2);
    this.meter.value = shown;
    this.panel.style.setProperty("--level", shown.toFixed(3));
  }

  note(text) {
    this.told.textContent = text;
  }

  fail(name, link = "", again = false, why = "") {
    this.show("trouble");
    this.status.textContent = "";
    this.trouble.replaceChildren(made("p", "", { textContent: this.say(name, { why }) }));
    if (link) this.trouble.append(made("a", "button primary", { href: link, textContent: this.say("deaf_help") }));
    if (again) this.trouble.append(made("button", "button", { type: "button", textContent: this.say("again"), onclick: () => this.connect() }));
    this.trouble.hidden = false;
  }
}
