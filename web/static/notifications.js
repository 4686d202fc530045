// What this browser shows while the dashboard is closed, and the dashboard as an app.
import { ask, choose, known } from "./push.js";
import { t } from "./texts.js";
import { done, toast } from "./ui.js";

const form = document.getElementById("push");
const boxes = [...form.querySelectorAll("input")];
const status = document.getElementById("push-state");
const test = document.getElementById("push-test");
const can = isSecureContext && navigator.serviceWorker && globalThis.PushManager;

async function subscription(worker) {
  const { vapidPublicKey } = await ask("key");
  const key = Uint8Array.from(atob(vapidPublicKey.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
  return (await worker.pushManager.getSubscription()) ?? worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

async function save(box) {
  const topics = boxes.filter((each) => each.checked).map((each) => each.name);
  for (const each of boxes) each.disabled = true;
  try {
    if (topics.length && (await Notification.requestPermission()) !== "granted") {
      throw new Error(t("This browser does not permit notifications here: allow them in its settings for this page."));
    }
    await navigator.serviceWorker.register("/sw.js");
    const worker = await navigator.serviceWorker.ready;
    const found = topics.length ? await subscription(worker) : await worker.pushManager.getSubscription();
    if (found) {
      const { endpoint, keys } = found.toJSON();
      if (topics.length) await ask("subscribe", { endpoint, keys, topics });
      else {
        await ask("unsubscribe", { endpoint });
        await found.unsubscribe?.();
      }
    }
    choose(topics);
    show(topics);
  } catch (error) {
    box.checked = !box.checked;
    toast(error.message || error.name);
  } finally {
    for (const each of boxes) each.disabled = false;
  }
}

function show(topics) {
  for (const box of boxes) box.checked = topics.includes(box.name);
  status.textContent = topics.length ? t("Notifications come to this browser.") : t("No notifications come to this browser yet.");
  test.hidden = !topics.length;
}

async function start() {
  if (!can) {
    document.getElementById(isSecureContext ? "push-old" : "push-insecure").hidden = false;
    return;
  }
  form.hidden = false;
  const found = await known();
  const { topics } = found ? await ask("state", { endpoint: found.endpoint }) : { topics: [] };
  show(topics);
}

form.addEventListener("change", ({ target }) => save(target));
test.addEventListener("click", async () => {
  try {
    const { results } = await ask("test");
    const failed = results.find((each) => !each.ok);
    if (failed || !results.length) throw new Error(failed?.error ?? t("The push service answered with {status}.", { status: failed?.status ?? "–" }));
    done(test, t("Sent"));
  } catch (error) {
    toast(error.message);
  }
});

// -- the app ------------------------------------------------------------------------------------------------------------

const install = document.getElementById("install");
let offer = null;
function installable() {
  const is = matchMedia("(display-mode: standalone)").matches;
  document.getElementById("installed").hidden = !is;
  install.hidden = is || !offer;
  document.getElementById("install-how").hidden = is || Boolean(offer);
}
addEventListener("beforeinstallprompt", (event) => { event.preventDefault(); offer = event; installable(); });
addEventListener("appinstalled", () => { offer = null; installable(); });
install.addEventListener("click", async () => {
  await navigator.serviceWorker?.register("/sw.js");
  await offer?.prompt();
});
installable();
start().catch((error) => toast(error.message)).finally(() => { document.documentElement.dataset.push = ""; });
