// Hands one tab over to the hub, and takes it back: with the button, when the tab is closed, and with the browser's bar.
import {openWay, Trouble} from "./hub.js";

const AUTO_ATTACH = "Target.setAutoAttach";
const CHILDREN = ["iframe", "worker"];
// The frames of other sites and the workers that are in the tab, and nothing else.
const INSIDE = {
  autoAttach: true, waitForDebuggerOnStart: true, flatten: true,
  filter: [...CHILDREN.map(type => ({type})), {exclude: true}],
};
const PASSING = ["not_reached", "starting", "no_browser"];
const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 30_000;
const PING_MS = 20_000;
const SILENCE_LIMIT_MS = 50_000;

// The tab that is handed over: {tabId, socket, heard}. There is never more than one.
let handed = null;
const allowed = fetch("allowed.json").then(answer => answer.json()).then(names => new Set(names));

chrome.action.onClicked.addListener(async tab => {
  const before = handed;
  if (before) await end(before);
  if (before?.tabId !== tab.id) await handOver(tab);
});

chrome.debugger.onDetach.addListener(({tabId}) => {
  if (handed?.tabId === tabId) end(handed);
});

chrome.debugger.onEvent.addListener(({tabId, sessionId}, method, params = {}) => {
  if (handed?.tabId !== tabId) return;
  if (method === "Target.attachedToTarget" && !CHILDREN.includes(params.targetInfo.type)) return;
  if (method === "Page.frameNavigated" && !sessionId && !params.frame.parentId && !isOfTheWeb(params.frame.url)) {
    end(handed, new Trouble("left_the_web"));
    return;
  }
  tell(handed, {method, params, sessionId});
});

chrome.tabs.onUpdated.addListener(tabId => {
  if (handed?.tabId === tabId) mark(handed);
});

// What was handed over before this worker began is taken back: nobody knows any more who asked for it.
chrome.storage.session.get("handed").then(({handed: tabId}) => {
  if (tabId === undefined || handed) return;
  chrome.storage.session.remove("handed");
  chrome.debugger.detach({tabId}).catch(() => {});
  unmark(tabId);
});

const isOfTheWeb = url => /^(https?:\/\/|about:blank$|chrome-error:)/.test(url ?? "");

async function handOver(tab) {
  const here = handed = {tabId: tab.id, socket: null, heard: 0};
  try {
    if (!/^https?:/.test(tab.url ?? "")) throw new Trouble("not_of_the_web");
    await attach(here);
  } catch (trouble) {
    await end(here, trouble);
    return;
  }
  await chrome.storage.session.set({handed: tab.id});
  await keep(here);
}

// Keeps the way to the hub open as long as the tab is handed over.
async function keep(here) {
  let wait = FIRST_WAIT_MS;
  for (let first = true; handed === here; first = false) {
    try {
      const socket = await openWay(await about(here));
      if (handed !== here) {
        socket.close();
        return;
      }
      here.socket = socket;
      mark(here);
      await serve(here);
      here.socket = null;
      wait = FIRST_WAIT_MS;
      if (handed !== here) return;
      mark(here);
      // What the hub had set in the tab ends with its connection.
      await chrome.debugger.detach({tabId: here.tabId}).catch(() => {});
      await attach(here);
    } catch (trouble) {
      if (first || !PASSING.includes(trouble.message)) {
        await end(here, trouble);
        return;
      }
    }
    await new Promise(resolve => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LAST_WAIT_MS);
  }
}

async function attach(here) {
  try {
    await chrome.debugger.attach({tabId: here.tabId}, "1.3");
  } catch (error) {
    throw new Trouble("tab_refused", error.message);
  }
  if (handed !== here) await chrome.debugger.detach({tabId: here.tabId}).catch(() => {});
}

async function about(here) {
  const {targetInfo} = await chrome.debugger.sendCommand({tabId: here.tabId}, "Target.getTargetInfo");
  return {tab: {id: targetInfo.targetId, url: targetInfo.url, title: targetInfo.title}, userAgent: navigator.userAgent};
}

// Does what the hub asks until the connection has ended; one that is silent for long has ended, too.
async function serve(here) {
  const {socket} = here;
  const names = await allowed;
  here.heard = Date.now();
  let watch;
  await new Promise(resolve => {
    socket.onclose = resolve;
    socket.onmessage = ({data}) => {
      here.heard = Date.now();
      const asked = JSON.parse(data);
      if (asked.method) obey(here, asked, names);
    };
    watch = setInterval(() => {
      if (Date.now() - here.heard > SILENCE_LIMIT_MS) resolve();
      else tell(here, {ping: true});
    }, PING_MS);
  });
  clearInterval(watch);
  socket.close();
}

async function obey(here, {id, sessionId, method, params = {}}, names) {
  const answer = {id};
  try {
    if (handed !== here || isRefused(method, params, names)) throw new Error(`${method} reaches beyond the tab`);
    const target = sessionId ? {tabId: here.tabId, sessionId} : {tabId: here.tabId};
    answer.result = await chrome.debugger.sendCommand(target, method, method === AUTO_ATTACH ? INSIDE : params) ?? {};
  } catch (error) {
    answer.error = protocolError(error);
  }
  tell(here, answer);
}

// What the hub refuses by itself already; what reaches beyond the tab is done by neither.
function isRefused(method, params, names) {
  if (!names.has(method)) return true;
  if (method === "Page.navigate") return !isOfTheWeb(params.url);
  return method === "Input.dispatchDragEvent" && Boolean(params.data?.files?.length);
}

function protocolError(error) {
  try {
    const {code, message} = JSON.parse(error.message);
    return {code, message};
  } catch {
    return {code: -32000, message: error.message};
  }
}

function tell(here, message) {
  if (here.socket?.readyState === WebSocket.OPEN) here.socket.send(JSON.stringify(message));
}

async function end(here, trouble) {
  if (handed !== here) return;
  handed = null;
  const left = chrome.debugger.detach({tabId: here.tabId}).catch(() => {});
  here.socket?.close();
  await left;
  await chrome.storage.session.remove("handed");
  unmark(here.tabId);
  if (trouble) await show(here.tabId, trouble);
}

// The popup says what is wrong; until it was read the button opens it.
async function show(tabId, {message, detail = ""}) {
  await chrome.storage.session.set({trouble: {tabId, name: message, detail}});
  try {
    await chrome.action.setPopup({tabId, popup: "popup.html"});
    await chrome.action.setBadgeBackgroundColor({tabId, color: "#b3261e"});
    await chrome.action.setBadgeText({tabId, text: "!"});
    await chrome.action.openPopup();
  } catch {
    // The tab is gone, or its window is not in front: the badge tells.
  }
}

function mark({tabId, socket}) {
  const set = {
    text: socket ? "ON" : "…", color: socket ? "#1b7f3b" : "#8a6100",
    title: chrome.i18n.getMessage(socket ? "handed_over" : "waits_for_the_hub"),
  };
  quietly(chrome.action.setBadgeBackgroundColor({tabId, color: set.color}));
  quietly(chrome.action.setBadgeText({tabId, text: set.text}));
  quietly(chrome.action.setTitle({tabId, title: set.title}));
}

function unmark(tabId) {
  quietly(chrome.action.setBadgeText({tabId, text: ""}));
  quietly(chrome.action.setTitle({tabId, title: ""}));
}

// The tab may be gone.
const quietly = promise => promise.catch(() => {});
