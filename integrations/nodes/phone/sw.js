// The service worker: shows what is pushed while the page is closed. It keeps nothing and answers no request.
addEventListener("install", () => skipWaiting());
addEventListener("activate", event => event.waitUntil(clients.claim()));

addEventListener("push", event => {
  let said = {};
  try {
    said = event.data.json();
  } catch {
    // a push without data that can be read still has to show something
  }
  event.waitUntil(registration.showNotification(said.title || "Homarus", {body: said.body || "", icon: "/p/icon.svg", tag: said.tag}));
});

addEventListener("notificationclick", event => {
  event.notification.close();
  event.waitUntil(clients.matchAll({type: "window"}).then(found => found[0] ? found[0].focus() : clients.openWindow("/p")));
});
