// How a notification is shown, by the page and by its service worker: `said` is what the hub sent.
self.noticeOptions = said => ({
  body: said.body || "",
  icon: "/p/icon.svg",
  tag: said.tag || said.id,
  renotify: Boolean(said.tag),
  image: said.image,
  requireInteraction: Boolean(said.sticky || said.urgent),
  vibrate: said.urgent ? [300, 150, 300] : undefined,
  actions: (said.buttons || []).slice(0, self.Notification?.maxActions ?? 2).map((each, at) => ({action: String(at), title: each.title})),
  data: said,
});

// Remove what was shown of a notification that another replaced, or that was answered or dismissed on the page.
self.removeNotice = async (registration, said) => {
  for (const each of await registration.getNotifications()) {
    if (each.tag === (said.tag || said.id)) {
      each.close();
    }
  }
};

// Tell the hub that a button was pressed, with the text of an answer, or that the notification was dismissed.
self.tellHub = async (path, reply) => {
  const body = reply ? JSON.stringify({reply_text: reply}) : undefined;
  const answer = await fetch(path, {method: "POST", body});
  if (!answer.ok) {
    throw new Error((await answer.json().catch(() => ({}))).error?.message || `HTTP ${answer.status}`);
  }
};
