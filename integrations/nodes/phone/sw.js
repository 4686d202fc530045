// The service worker: shows what is pushed while the page is closed. It keeps nothing and answers no request.
if (!self.noticeOptions) {
  importScripts("/p/notice.js"); // the worker that is a module has imported it
}
addEventListener("install", () => skipWaiting());
addEventListener("activate", event => event.waitUntil(clients.claim()));

addEventListener("push", event => {
  let said = {};
  try {
    said = event.data.json();
  } catch {
    // a push without data that can be read still has to show something
  }
  event.waitUntil(said.clear ? removeNotice(registration, said) : registration.showNotification(said.title || "Homarus", noticeOptions(said)));
});

addEventListener("notificationclick", event => {
  const said = event.notification.data || {};
  const button = event.action ? said.buttons?.[Number(event.action)] : undefined;
  if (button?.replies) {
    event.waitUntil(open("/p", said)); // it stays, and the page asks for the text
    return;
  }
  event.notification.close();
  if (button && !button.uri) {
    event.waitUntil(tellHub(button.press).catch(() => registration.showNotification(said.title || "Homarus", noticeOptions(said))));
    return;
  }
  event.waitUntil(open(button?.uri || said.url || said.path || "/p", said));
});

addEventListener("notificationclose", event => {
  const {cleared} = event.notification.data || {};
  if (cleared) {
    event.waitUntil(tellHub(cleared).catch(() => null));
  }
});

async function open(url, said) {
  const [page] = await clients.matchAll({type: "window"});
  if (url !== "/p" || !page) {
    return clients.openWindow(url);
  }
  page.postMessage(said);
  return page.focus();
}
