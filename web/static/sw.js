// The service worker of the dashboard as an app: what the hub pushes is shown while no page is open, and without the hub
// there is a page that says so. It keeps style, font and icon by their hash, and never a page: pages hold what is private.
/* global VERSION, KEPT: the hub writes them above */
const OFFLINE = "/offline";

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll([OFFLINE, ...KEPT])));
});
addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== VERSION).map((name) => caches.delete(name))));
  event.waitUntil(Promise.all([old, clients.claim()]));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate" && request.method === "GET") {
    event.respondWith(fetch(request).catch(() => caches.match(OFFLINE)));
  } else if (KEPT.includes(new URL(request.url).pathname)) {
    event.respondWith(caches.match(request).then((found) => found ?? fetch(request)));
  }
});

addEventListener("push", (event) => {
  let said = {};
  try {
    said = event.data.json();
  } catch {
    // a push without data that can be read still has to show something
  }
  event.waitUntil(shown(said));
});

async function shown({ title = "Homarus", body = "", tag, path = "/" }) {
  const pages = await clients.matchAll({ type: "window" });
  if (tag && pages.some((page) => page.focused && page.url.endsWith(path))) return; // it stands before its reader
  await registration.showNotification(title, { body, tag, data: { path }, icon: KEPT.find((name) => name.endsWith("192.png")) });
}

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(opened(event.notification.data?.path ?? "/"));
});

async function opened(path) {
  const [page] = await clients.matchAll({ type: "window" });
  if (!page) return clients.openWindow(path);
  await page.navigate(path).catch(() => clients.openWindow(path)); // a page that this worker does not control
  return page.focus();
}
