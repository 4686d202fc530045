// The subscription of this browser to what the hub pushes. What was chosen stays here, and comes back with the next sign-in.
const CHOSEN = "homarus:push";
const RENEWED = "homarus:push-renewed";
const person = () => document.documentElement.dataset.person;

/** Ask the hub about this browser. */
export async function ask(what, fields = {}) {
  const response = await fetch(`/notifications/${what}`, {
    method: "POST", body: JSON.stringify(fields), headers: { Accept: "application/json", "Content-Type": "application/json" },
  });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error?.message);
  return body;
}

/** Return the subscription of this browser, if it has one. */
export async function known() {
  return (await navigator.serviceWorker.getRegistration("/"))?.pushManager.getSubscription();
}

/** Keep what the person at this browser chose. */
export function choose(topics) {
  localStorage.setItem(CHOSEN, JSON.stringify({ person: person(), topics }));
}

/** Subscribe again after a new sign-in of the same person, once for each tab. */
export async function renew() {
  const chosen = JSON.parse(localStorage.getItem(CHOSEN));
  if (!chosen?.topics.length || chosen.person !== person() || sessionStorage.getItem(RENEWED)) return;
  sessionStorage.setItem(RENEWED, "yes");
  const subscription = await known();
  if (!subscription || (await ask("state", { endpoint: subscription.endpoint })).subscribed) return;
  const { endpoint, keys } = subscription.toJSON();
  await ask("subscribe", { endpoint, keys, topics: chosen.topics });
}
