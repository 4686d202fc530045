// The one WebSocket of this tab. It reconnects for ever and quietly; nothing on the page is lost meanwhile.
import { t } from "./texts.js";

const FIRST_WAIT_MS = 800;
const LONGEST_WAIT_MS = 15_000;
const QUIET_MS = 1_500; // a shorter interruption is not worth a word
const USED_MS = 20_000; // how often the hub hears that somebody uses this tab
const SILENCE_MS = 50_000; // the hub speaks at least every 20 s

// What the reader did to the page is the reader's: opened details and the marked session survive a morph.
globalThis.htmx?.registerExtension("homarus", {
  htmx_before_morph_attr: (element, detail) =>
    !(detail.attrName === "open" || (detail.attrName === "aria-current" && element.closest("#sessions"))),
});

/** Put HTML in place of the element with this id; focus, caret and what is open stay. */
export function morph(id, html) {
  const target = document.getElementById(id);
  if (target) globalThis.htmx.swap({ text: html, target, swap: "outerMorph", sourceElement: target });
  return Boolean(target);
}

class Live {
  constructor() {
    this.handlers = new Map();
    this.wait = FIRST_WAIT_MS;
    this.connected = false;
    this.seen = 0;
    this.used = Date.now();
  }

  /** Call `handler(frame)` for frames of one kind. */
  on(kind, handler) {
    this.handlers.set(kind, [...(this.handlers.get(kind) || []), handler]);
  }

  start() {
    this.connect();
    addEventListener("online", () => this.retry());
    addEventListener("pageshow", (event) => event.persisted && this.retry());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.retry());
    for (const kind of ["pointerdown", "keydown", "scroll"]) addEventListener(kind, () => this.use(), { capture: true, passive: true });
    setInterval(() => this.connected && Date.now() - this.seen > SILENCE_MS && this.socket.close(), 5_000);
  }

  /** Tell the hub what this page shows; it answers with the whole state of each topic. */
  watch() {
    const topics = [...document.querySelectorAll("[data-topic]")].map((element) => element.dataset.topic);
    if (this.connected) this.socket.send(JSON.stringify({ t: "watch", topics }));
  }

  use() {
    if (!this.connected || Date.now() - this.used < USED_MS) return;
    this.used = Date.now();
    this.socket.send('{"t":"used"}');
  }

  retry() {
    if (this.connected || this.socket?.readyState === WebSocket.CONNECTING) return;
    clearTimeout(this.timer);
    this.wait = FIRST_WAIT_MS;
    this.connect();
  }

  connect() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live?language=${document.documentElement.lang}`);
    this.socket = socket;
    socket.addEventListener("message", (event) => this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", () => this.socket === socket && this.lost());
  }

  receive(frame) {
    this.seen = Date.now();
    if (frame.t === "hello") {
      this.connected = true;
      this.wait = FIRST_WAIT_MS;
      this.watch();
      this.show("");
      document.documentElement.dataset.live = "on";
    }
    for (const handler of this.handlers.get(frame.t) || []) handler(frame);
  }

  async lost() {
    const had = this.connected;
    this.connected = false;
    document.documentElement.dataset.live = "off";
    for (const handler of this.handlers.get("lost") || []) handler({});
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => this.connected || this.show(t("Reconnecting…")), QUIET_MS);
    if (!had && (await this.signedOut())) {
      this.show(t("Signed out. Reload the page to sign in."));
      return;
    }
    const jitter = 0.5 + Math.random() / 2;
    this.timer = setTimeout(() => this.connect(), this.wait * jitter);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MS);
  }

  /** Whether the hub is there and does not know us: a refused socket does not tell why. */
  async signedOut() {
    try {
      return (await fetch("/live/state", { headers: { Accept: "application/json" } })).status === 401;
    } catch {
      return false;
    }
  }

  show(text) {
    clearTimeout(this.quiet);
    const badge = document.getElementById("link-state");
    if (!badge) return;
    badge.textContent = text;
    badge.hidden = !text;
  }
}

export const live = new Live();

// What was still on its way when its reader paused a place comes too late.
live.on("html", (frame) => document.getElementById(frame.id)?.closest("[data-paused]") || morph(frame.id, frame.html));
let boot = 0;
live.on("version", (frame) => {
  if (boot && boot !== frame.boot && document.querySelector("[data-recovery]")) location.reload();
  boot = frame.boot;
  const mine = new URL(import.meta.url).pathname.split("/")[2];
  if (frame.assets !== mine) live.show(t("The hub was updated. Reload the page when it suits you."));
});
