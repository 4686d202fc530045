// The sentences of scripts, in the reader's language; the page brings them.
const texts = JSON.parse(document.getElementById("texts")?.textContent || "{}");

/** Return `message` in the reader's language, with `{name}` filled in. */
export function t(message, values = {}) {
  return (texts[message] ?? message).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** Say something to screen readers, when they have nothing else to say. */
export function announce(message) {
  const place = document.getElementById("announcer");
  if (place && message) place.textContent = message;
}
