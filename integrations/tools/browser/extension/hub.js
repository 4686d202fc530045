// The hub: pairs this browser with it by a setup code, and opens the way on which it uses one tab.
const PROTOCOL = 4;
const ANSWER_LIMIT_MS = 30_000;
const WAY = "homarus.browser";
const BEARER = "homarus.bearer.";
const SCOPES = ["operator.browser"];
const REFUSED_WAY = 4000;

// Its message is the name of a sentence in _locales; `detail` is what the hub or the browser says.
export class Trouble extends Error {
  constructor(name, detail = "") {
    super(name);
    this.detail = detail;
  }
}

export async function settings() {
  const kept = await chrome.storage.local.get(["address", "profile", "token"]);
  return {address: "", profile: "chrome", token: "", ...kept};
}

// An address as people write it, as that of a WebSocket.
export function readAddress(text) {
  const scheme = {"http:": "ws:", "https:": "wss:", "ws:": "ws:", "wss:": "wss:"};
  try {
    const url = new URL(text.includes("://") ? text.trim() : `ws://${text.trim()}`);
    if (scheme[url.protocol] && url.hostname) {
      return `${scheme[url.protocol]}//${url.host}${url.pathname.replace(/\/+$/, "")}`;
    }
  } catch {
    // Reported below.
  }
  throw new Trouble("address_wrong");
}

// Whether others on the network can read what is sent there.
export function isOpen(address) {
  const {protocol, hostname} = new URL(address);
  return protocol === "ws:" && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

// A setup code: where the hub is, and the token that lets one browser in.
export function readCode(code) {
  try {
    const {url, bootstrapToken} = JSON.parse(atob(code.trim().replaceAll("-", "+").replaceAll("_", "/")));
    if (url && bootstrapToken) return {url, bootstrapToken};
  } catch {
    // Reported below.
  }
  throw new Trouble("code_wrong");
}

export async function pair(address, code, profile) {
  const {bootstrapToken} = readCode(code);
  const {auth} = await greet(address, {bootstrapToken});
  await chrome.storage.local.set({address, profile, token: auth.deviceToken});
}

// The socket on which the hub uses a tab, once the hub has taken it.
export async function openWay(about) {
  const {address, profile, token} = await settings();
  if (!token) throw new Trouble("not_paired");
  const socket = new WebSocket(`${address}/browser/attach/${encodeURIComponent(profile)}`, [WAY, BEARER + token]);
  try {
    await within(new Promise((resolve, reject) => {
      socket.onopen = () => socket.send(JSON.stringify(about));
      socket.onmessage = resolve;
      socket.onclose = ({code, reason}) =>
        reject(code === REFUSED_WAY ? new Trouble(`way_${reason}`, profile) : new Trouble("not_reached"));
    }));
    return socket;
  } catch (error) {
    socket.close();
    throw error.message === "not_reached" ? await why(address, token) : error;
  }
}

// Why a socket was not opened: a browser does not say what was answered.
async function why(address, token) {
  try {
    await greet(address, {deviceToken: token});
    return new Trouble("no_browser");
  } catch (error) {
    return error;
  }
}

async function greet(address, auth) {
  const socket = new WebSocket(`${address}/ws`);
  try {
    return await within(new Promise((resolve, reject) => {
      socket.onclose = () => reject(new Trouble("not_reached"));
      socket.onmessage = async ({data}) => {
        const frame = JSON.parse(data);
        if (frame.event === "connect.challenge") {
          const params = await introduction(auth, frame.payload).catch(reject);
          socket.send(JSON.stringify({type: "req", id: "1", method: "connect", params}));
        } else if (frame.type === "res") {
          frame.ok ? resolve(frame.payload) : reject(refusal(frame.error, auth));
        }
      };
    }));
  } finally {
    socket.close();
  }
}

function refusal({code, message}, auth) {
  if (code === "UNAVAILABLE") return new Trouble("starting");
  if (code === "LIMIT_EXCEEDED") return new Trouble("too_often", message);
  return new Trouble(auth.bootstrapToken ? "code_refused" : "refused", message);
}

async function introduction(auth, {nonce, ts}) {
  const {privateKey, publicKey} = await key();
  const raw = await crypto.subtle.exportKey("raw", publicKey);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  const id = [...digest].map(each => each.toString(16).padStart(2, "0")).join("");
  const platform = (await chrome.runtime.getPlatformInfo()).os;
  const client = {
    id: "homarus-extension", version: chrome.runtime.getManifest().version, platform, mode: "ui",
    deviceFamily: "browser", displayName: `Chrome (${platform})`,
  };
  const token = Object.values(auth)[0];
  const said = ["v3", id, client.id, client.mode, "operator", SCOPES, ts, token, nonce, platform, client.deviceFamily];
  const signature = await crypto.subtle.sign("Ed25519", privateKey, new TextEncoder().encode(said.join("|")));
  const device = {id, publicKey: base64url(raw), signature: base64url(signature), signedAt: ts, nonce};
  return {minProtocol: PROTOCOL, maxProtocol: PROTOCOL, client, role: "operator", scopes: SCOPES, auth, device};
}

// The key by which the hub knows this browser; it cannot be read out.
async function key() {
  const store = mode => new Promise((resolve, reject) => {
    const opening = indexedDB.open("homarus", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => resolve(opening.result.transaction("kept", mode).objectStore("kept"));
  });
  const done = request => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const kept = await done((await store("readonly")).get("key"));
  if (kept) return kept;
  const made = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
  await done((await store("readwrite")).put(made, "key"));
  return made;
}

const base64url = bytes =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function within(promise) {
  let limit;
  const late = new Promise((_, reject) => {
    limit = setTimeout(() => reject(new Trouble("not_reached")), ANSWER_LIMIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(limit));
}
