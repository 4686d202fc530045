// The service worker of browsers that take modules: besides showing pushes, it tells the hub that the phone is there, and
// does what waits for it, each time a push or the browser's clock wakes it. A worker has no camera, no place, no battery.
import "/p/notice.js";
import "/p/sw.js";
import {commandsOf, CommandFailed, platform} from "/p/node.js";
import {identity, kept, Wire} from "/p/wire.js";

const STAY_MS = 5_000;
const BACKGROUND = new CommandFailed("NODE_BACKGROUND_UNAVAILABLE", "the page is not open on the phone");

async function report(trigger) {
  const [token, offered, notices] = await Promise.all(["node-token", "offered", "switch-notifications"].map(kept));
  const pages = await clients.matchAll({type: "window", includeUncontrolled: true});
  if (!token || !offered || pages.some(each => new URL(each.url).pathname === "/p")) {
    return; // an open page is connected itself
  }
  const refuse = () => Promise.reject(BACKGROUND);
  const all = commandsOf({
    allowed: name => name === "notifications" && notices === true,
    canvas: {show: refuse, hide: refuse, ask: refuse, draw: refuse},
    notice: () => null,
    registration: async () => registration,
    tapped: refuse,
  });
  const own = await identity();
  const {name, family} = platform();
  const client = {
    id: "homarus-phone", displayName: family, version: "1.0.0", platform: name, deviceFamily: family, mode: "node", instanceId: own.id,
  };
  const caps = [...new Set(offered.map(each => each.split(".")[0]))];
  const about = {client, scopes: [], caps, commands: offered, permissions: {}};
  const node = await Wire.open(own, "node", {deviceToken: token}, about, async (event, asked) => {
    if (event !== "node.invoke.request") {
      return;
    }
    const result = {id: asked.id, nodeId: own.id};
    try {
      const does = ["system.notify", "device.info", "device.status"].includes(asked.command) ? all[asked.command] : refuse;
      Object.assign(result, {ok: true, payloadJSON: JSON.stringify(await does(JSON.parse(asked.paramsJSON || "{}")))});
    } catch (error) {
      Object.assign(result, {ok: false, error: {code: error.code || "UNAVAILABLE", message: error.message}});
    }
    await node.call("node.invoke.result", result).catch(() => null);
  });
  await node.call("node.event", {event: "node.presence.alive", payloadJSON: JSON.stringify({trigger, sentAtMs: Date.now()})});
  await Promise.race([node.closed, new Promise(resolve => setTimeout(resolve, STAY_MS))]);
  node.close();
}

addEventListener("push", event => event.waitUntil(report("silent_push").catch(() => null)));
addEventListener("periodicsync", event => event.waitUntil(report("bg_app_refresh").catch(() => null)));
