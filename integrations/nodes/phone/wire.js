// The gateway's protocol: a key that never leaves this browser, and sockets to the page's own origin alone.
const PROTOCOL = 4;
const ANSWER_LIMIT_MS = 30_000;

// What is kept: the key, and the tokens that the hub gave.
function store(mode, act) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("homarus-phone", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const request = act(opening.result.transaction("kept", mode).objectStore("kept"));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    };
  });
}
export const kept = name => store("readonly", found => found.get(name));
export const keep = (name, value) => store("readwrite", found => found.put(value, name));

const base64url = bytes =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

export async function identity() {
  let pair = await kept("key");
  if (!pair) {
    pair = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
    await keep("key", pair);
  }
  const raw = await crypto.subtle.exportKey("raw", pair.publicKey);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  return {pair, publicKey: base64url(raw), id: [...digest].map(each => each.toString(16).padStart(2, "0")).join("")};
}

// The token of a setup code. Its address is not used: secrets go to this page's own origin and nowhere else.
export function tokenOf(code) {
  try {
    const text = code.trim().replace(/^oc-pair:\/\//, "").replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(atob(text)).bootstrapToken || "";
  } catch {
    return "";
  }
}

export class Refused extends Error {
  constructor(error) {
    super(error.message || "refused");
    this.code = error.details?.code || error.code;
    this.requestId = error.details?.requestId;
  }
}

// One socket in one role. `onEvent(name, payload)` gets what the hub pushes, `closed` is settled when it has ended.
export class Wire {
  #socket;
  #waiting = new Map();
  #next = 0;

  static async open(own, role, auth, about, onEvent) {
    const wire = new Wire();
    const url = new URL("/", location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    wire.#socket = new WebSocket(url);
    wire.closed = new Promise(resolve => wire.#socket.addEventListener("close", resolve));
    const challenge = new Promise((resolve, reject) => {
      wire.closed.then(() => reject(new Error("closed")));
      wire.#socket.addEventListener("message", message => {
        const frame = JSON.parse(message.data);
        if (frame.type === "res") {
          wire.#answer(frame);
        } else if (frame.event === "connect.challenge") {
          resolve(frame.payload);
        } else {
          onEvent(frame.event, frame.payload);
        }
      });
    });
    wire.closed.then(() => wire.#waiting.forEach(each => each.reject(new Error("closed"))));
    const {nonce, ts} = await challenge;
    const params = {minProtocol: PROTOCOL, maxProtocol: PROTOCOL, role, auth, ...about};
    params.device = await sign(own, params, Object.values(auth)[0] || "", nonce, ts);
    try {
      wire.hello = await wire.call("connect", params);
    } catch (error) {
      wire.close();
      throw error;
    }
    return wire;
  }

  call(method, params) {
    const id = `p${++this.#next}`;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, {resolve, reject}));
    const limit = setTimeout(() => this.#answer({id, error: {message: `${method}: no answer`}}), ANSWER_LIMIT_MS);
    this.#socket.send(JSON.stringify({type: "req", id, method, params}));
    return answer.finally(() => clearTimeout(limit));
  }

  close() {
    this.#socket.close();
  }

  #answer(frame) {
    const waiting = this.#waiting.get(frame.id);
    this.#waiting.delete(frame.id);
    if (frame.ok) {
      waiting?.resolve(frame.payload);
    } else {
      waiting?.reject(new Refused(frame.error || {}));
    }
  }
}

async function sign(own, params, token, nonce, signedAt) {
  const {client, role, scopes} = params;
  const text = [
    "v3", own.id, client.id, client.mode, role, scopes.join(","), signedAt, token, nonce,
    client.platform.toLowerCase(), client.deviceFamily.toLowerCase(),
  ].join("|");
  const signature = await crypto.subtle.sign("Ed25519", own.pair.privateKey, new TextEncoder().encode(text));
  return {id: own.id, publicKey: own.publicKey, signature: base64url(signature), signedAt, nonce};
}
