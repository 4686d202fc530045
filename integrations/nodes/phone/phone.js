// The page: pairs, keeps two sockets (node and operator), answers what the node is asked, and holds a chat.
import {commandsOf, CommandFailed, platform} from "/p/node.js";
import {canvasOf} from "/p/canvas.js";
import {noticesIn} from "/p/notices.js";
import {keepAwake, stayAwake, watch} from "/p/report.js";
import {readTags} from "/p/tags.js";
import {identity, keep, kept, Refused, tokenOf, Wire} from "/p/wire.js";

const OPERATOR_SCOPES = ["operator.read", "operator.write"];
const LAST_DELAY_MS = 30_000;
const SYNC_MS = 3_600_000;
const texts = JSON.parse(document.documentElement.dataset.texts);
const at = id => document.getElementById(id);
const say = (name, values = {}) => texts[name].replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
const wait = ms => new Promise(resolve => setTimeout(resolve, ms));

let own;
let operator;
let talking;
let conversation = "main";
let registering;
const switches = {};
const speech = new Map();

// A code is in the part of the address that no server sees, and leaves it at once.
const code = location.hash.slice(1);
const shared = new URLSearchParams(location.search);
if (code || location.search) {
  history.replaceState(null, "", location.pathname);
}

const registration = async () => (await registering) || Promise.reject(new CommandFailed("UNAVAILABLE", "this browser has no service worker"));
const notices = noticesIn(at("notice-list"), say, registration);
const commands = commandsOf({
  allowed: name => switches[name] === true,
  canvas: canvasOf({say, note, press: pressed => operator.call("canvas.press", pressed)}),
  notice: notices.show,
  registration,
  tapped,
});

async function start() {
  const missing = await whatIsMissing();
  if (missing.length) {
    at("missing-list").replaceChildren(...missing.map(each => Object.assign(document.createElement("li"), {textContent: say(each)})));
    at("missing").hidden = false;
    at("state").textContent = "";
    return;
  }
  registering = worker().catch(() => null);
  navigator.serviceWorker?.addEventListener("message", event => notices.show(event.data));
  registering?.then(async worker => (await worker?.getNotifications?.())?.forEach(each => each.data && notices.show(each.data))).catch(() => null);
  own = await identity();
  for (const box of document.querySelectorAll("#switches input")) {
    box.checked = switches[box.name] = (await kept(`switch-${box.name}`)) === true;
    box.addEventListener("change", () => turn(box));
  }
  document.querySelector("[name=tags]").parentElement.hidden = !globalThis.NDEFReader;
  await keepAwake(() => switches.awake);
  const fresh = tokenOf(code);
  if (fresh || (await kept("node-token"))) {
    connect(fresh);
  } else {
    askForCode("");
  }
}

// A worker that wakes by itself is a module, which not every browser takes.
async function worker() {
  const register = (path, more) => navigator.serviceWorker.register(path, {scope: "/p", ...more});
  await register("/p/wake.js", {type: "module"}).catch(() => register("/p/sw.js"));
  const ready = await navigator.serviceWorker.ready;
  await ready.periodicSync?.register("report", {minInterval: SYNC_MS}).catch(() => null); // for installed pages alone
  return ready;
}

async function whatIsMissing() {
  if (!isSecureContext || !crypto.subtle) {
    return ["missing_keys", "missing_camera", "missing_location", "missing_push"];
  }
  try {
    await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
    return [];
  } catch {
    return ["missing_old"];
  }
}

function askForCode(why) {
  at("state").textContent = why;
  at("pairing").hidden = false;
}

at("code-form").addEventListener("submit", event => {
  event.preventDefault();
  const token = tokenOf(at("code").value.replace(/^.*#/, ""));
  if (!token) {
    at("state").textContent = say("not_a_code");
    return;
  }
  at("code").value = "";
  at("pairing").hidden = true;
  connect(token);
});

// Stay connected as a node; the first hello of a new code brings the operator's token too.
async function connect(bootstrap) {
  let delay = 1_000;
  for (;;) {
    try {
      const token = await kept("node-token");
      const auth = bootstrap ? {bootstrapToken: bootstrap} : {deviceToken: token};
      const node = await Wire.open(own, "node", auth, about("node"), (name, payload) => pushed(node, name, payload));
      await keep("node-token", node.hello.auth.deviceToken || token);
      for (const each of node.hello.auth.deviceTokens || []) {
        await keep(`${each.role}-token`, each.deviceToken);
        await keep(`${each.role}-scopes`, each.scopes);
      }
      [bootstrap, delay] = ["", 1_000];
      at("state").textContent = say("connected");
      at("switches").hidden = false;
      await keep("offered", about("node").commands);
      reports.node = node;
      reportAgain();
      readAgain();
      askAboutTag();
      talking = talk();
      await node.closed;
      reports.node = null;
      reportAgain();
      operator?.close();
      await talking;
      at("state").textContent = say("away");
    } catch (error) {
      if (error instanceof Refused && !error.requestId) {
        askForCode(say("refused", {why: error.message}));
        return;
      }
      at("state").textContent = error.requestId ? say("waiting", {id: error.requestId}) : say("away");
    }
    await Promise.race([wait(delay * (0.5 + Math.random() / 2)), comesBack()]);
    delay = Math.min(delay * 2, LAST_DELAY_MS);
  }
}

// The reports of one connection, as long as their switch is on.
const reports = {node: null, stop: () => null};
function reportAgain() {
  reports.stop();
  const {node} = reports;
  const send = data => node.call("node.event", {event: "node.report", payloadJSON: JSON.stringify(data)});
  reports.stop = node && switches.report ? watch(send) : () => null;
}

// Tags that the phone reads, as long as their switch is on.
let stopReading = () => null;
async function readAgain() {
  stopReading();
  stopReading = switches.tags && globalThis.NDEFReader ? await readTags(scanned).catch(() => () => null) : () => null;
}

async function scanned(tagId) {
  try {
    const answer = await reports.node.call("node.event", {event: "tag.scanned", payloadJSON: JSON.stringify({tagId})});
    at("told").textContent = answer.handled ? say("tag_told", {tag: tagId}) : say("failed", {why: answer.reason});
  } catch (error) {
    at("told").textContent = say("failed", {why: error?.message || say("away")});
  }
}

// A tag whose address opened the page: any page can open it too, so that a person has to say yes.
function askAboutTag() {
  const tagId = shared.get("tag");
  if (!tagId) {
    return;
  }
  const done = () => {
    shared.delete("tag");
    at("tag").hidden = true;
  };
  at("tag-id").textContent = tagId;
  at("tag-no").onclick = done;
  at("tag-yes").onclick = () => {
    done();
    scanned(tagId);
  };
  at("tag").hidden = false;
}

function comesBack() {
  return new Promise(resolve =>
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && resolve(), {once: true}),
  );
}

function about(role, scopes = []) {
  const {name, family} = platform();
  const client = {
    id: "homarus-phone", displayName: family, version: "1.0.0", platform: name, deviceFamily: family,
    mode: role === "node" ? "node" : "ui", instanceId: own.id,
  };
  const offered = role === "node" ? Object.keys(commands) : [];
  const caps = [...new Set(offered.map(each => each.split(".")[0]))];
  return {client, scopes, caps, commands: offered, permissions: role === "node" ? {...switches} : {}};
}

async function pushed(node, name, asked) {
  if (name !== "node.invoke.request") {
    return;
  }
  const result = {id: asked.id, nodeId: own.id};
  try {
    if (!Object.hasOwn(commands, asked.command)) {
      throw new CommandFailed("INVALID_REQUEST", `this phone has no command ${asked.command}`);
    }
    const answer = await commands[asked.command](JSON.parse(asked.paramsJSON || "{}") || {});
    note(say("used", {command: asked.command}));
    Object.assign(result, {ok: true, payloadJSON: JSON.stringify(answer ?? {})});
  } catch (error) {
    Object.assign(result, {ok: false, error: {code: error.code && isNaN(error.code) ? error.code : "UNAVAILABLE", message: error.message}});
  }
  await node.call("node.invoke.result", result).catch(() => null);
}

// A switch is on when its owner turned it on and the browser permits it too.
async function turn(box) {
  at("told").textContent = "";
  try {
    if (box.checked) {
      await permitted[box.name]();
    }
  } catch (error) {
    box.checked = false;
    at("told").textContent = say("denied", {why: error.message || error.name});
  }
  switches[box.name] = box.checked;
  await keep(`switch-${box.name}`, box.checked);
  if (box.name === "notifications" && box.checked) {
    await subscribe().catch(error => (at("told").textContent = say("no_push", {why: error.message || error.name})));
  }
  reportAgain();
  await readAgain();
  await stayAwake(() => switches.awake);
  box.dataset.is = box.checked ? "on" : "off";
}

const used = async constraints => (await navigator.mediaDevices.getUserMedia(constraints)).getTracks().forEach(each => each.stop());
const permitted = {
  camera: () => used({video: true}),
  microphone: () => used({audio: true}),
  location: () => new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(resolve, reject, {timeout: 20_000})),
  report: () => permitted.location(),
  tags: async () => (await readTags(() => null))(),
  awake: async () => {
    if (!navigator.wakeLock) {
      throw new Error("wakeLock");
    }
  },
  notifications: async () => {
    if (!globalThis.Notification || (await Notification.requestPermission()) !== "granted") {
      throw new Error("Notification");
    }
  },
};

async function subscribe() {
  const worker = await registering;
  await talking;
  const {vapidPublicKey} = await operator.call("push.web.vapidPublicKey", {});
  const key = Uint8Array.from(atob(vapidPublicKey.replaceAll("-", "+").replaceAll("_", "/")), each => each.charCodeAt(0));
  const options = {userVisibleOnly: true, applicationServerKey: key};
  const {endpoint, keys} = (await worker.pushManager.subscribe(options)).toJSON();
  await operator.call("push.web.subscribe", {endpoint, keys});
}

// The chat: the operator's socket, when the code gave this phone that much.
async function talk() {
  const token = await kept("operator-token");
  if (!token) {
    return;
  }
  const scopes = ((await kept("operator-scopes")) || OPERATOR_SCOPES).filter(each => OPERATOR_SCOPES.includes(each));
  operator = await Wire.open(own, "operator", {deviceToken: token}, about("operator", scopes), heard);
  conversation = operator.hello.snapshot?.sessionDefaults?.mainSessionKey || conversation;
  const {messages} = await operator.call("chat.history", {sessionKey: conversation, limit: 30});
  at("log").replaceChildren();
  speech.clear();
  for (const each of messages) {
    if (each.role === "user" || each.role === "assistant") {
      write(textOf(each), each.role === "user" ? "mine" : "theirs");
    }
  }
  at("chat").hidden = false;
  const given = ["title", "text", "url"].map(name => shared.get(name)).filter(Boolean).join("\n");
  if (given) {
    at("message").value = given;
    ["title", "text", "url"].forEach(name => shared.delete(name));
  }
}

function heard(name, event) {
  if (name !== "chat" || event.sessionKey !== conversation) {
    return;
  }
  if (event.state === "delta" || event.state === "final") {
    const text = textOf(event.message || {});
    if (text) {
      const line = speech.get(event.runId) || write("", "theirs");
      speech.set(event.runId, line);
      line.textContent = text;
      line.scrollIntoView({block: "end"});
    }
  }
  if (event.state === "final" || event.state === "error" || event.state === "aborted") {
    speech.delete(event.runId);
  }
  if (event.state === "error") {
    note(say("failed", {why: event.errorMessage || ""}));
  }
}

at("message-form").addEventListener("submit", async event => {
  event.preventDefault();
  const message = at("message").value.trim();
  if (!message) {
    return;
  }
  try {
    await operator.call("chat.send", {sessionKey: conversation, message, idempotencyKey: crypto.randomUUID()});
    at("message").value = "";
    write(message, "mine");
  } catch (error) {
    note(say("failed", {why: error.message}));
  }
});

// What is said goes into the same conversation, and is answered aloud.
at("talk").addEventListener("click", async () => {
  try {
    const {talk: open} = await import("/talk/talk.js");
    const params = {sessionKey: conversation, language: document.documentElement.lang};
    await open({ask: () => operator.call("talk.open", params), heard: text => write(text, "mine")});
  } catch (error) {
    note(say("failed", {why: error.message}));
  }
});

function textOf(message) {
  const content = message.content ?? message.text ?? "";
  return typeof content === "string" ? content : content.map(each => each.text || "").join("");
}

function write(text, kind) {
  const line = Object.assign(document.createElement("p"), {className: kind, textContent: text});
  at("log").append(line);
  line.scrollIntoView({block: "end"});
  return line;
}

function note(text) {
  write(text, "note");
}

// A screen is shown after a press alone: one question at a time, and none is a no.
function tapped(limitMs) {
  if (!at("screen").hidden) {
    throw new CommandFailed("BUSY", "another question about the screen is on the page");
  }
  at("screen").hidden = false;
  return new Promise((resolve, reject) => {
    const no = why => () => reject(new CommandFailed("SCREEN_RECORDING_PERMISSION_REQUIRED", why));
    at("screen-yes").onclick = resolve;
    at("screen-no").onclick = no("its person said no");
    setTimeout(no("nobody answered on the page"), limitMs);
  }).finally(() => (at("screen").hidden = true));
}

start().finally(() => document.documentElement.setAttribute("data-ready", ""));
