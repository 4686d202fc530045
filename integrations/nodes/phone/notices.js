// The notifications on the page: each a card with its picture and buttons, until it is answered or dismissed.
const made = (name, more = {}) => Object.assign(document.createElement(name), more);

// `say(name)` is a text, `registration()` the service worker's.
export function noticesIn(list, say, registration) {
  const cards = new Map();
  const key = said => said.tag || said.id;

  async function remove(said) {
    cards.get(key(said))?.remove();
    cards.delete(key(said));
    list.parentElement.hidden = !cards.size;
    const worker = await registration().catch(() => null);
    if (worker) {
      await self.removeNotice(worker, said);
    }
  }

  async function tell(card, said, path, reply) {
    try {
      await self.tellHub(path, reply);
      await remove(said);
    } catch (error) {
      card.querySelector("[role=status]").textContent = say("failed", {why: error.message});
    }
  }

  function buttonOf(card, said, button) {
    if (button.uri) {
      const link = made("a", {className: "button", textContent: button.title, href: button.uri, target: "_blank", rel: "noreferrer noopener"});
      link.addEventListener("click", () => remove(said));
      return link;
    }
    if (!button.replies) {
      const plain = made("button", {type: "button", className: "button", textContent: button.title});
      plain.addEventListener("click", () => tell(card, said, button.press));
      return plain;
    }
    const form = made("form", {className: "reply"});
    const field = made("input", {required: true, placeholder: button.placeholder || "", ariaLabel: button.title, autocomplete: "off"});
    form.append(field, made("button", {textContent: button.title}));
    form.addEventListener("submit", event => {
      event.preventDefault();
      tell(card, said, button.press, field.value);
    });
    return form;
  }

  function show(said) {
    if (said.clear) {
      return remove(said);
    }
    const card = made("article", {className: said.urgent ? "notice urgent" : "notice"});
    const close = made("button", {type: "button", className: "close", ariaLabel: say("dismiss"), title: say("dismiss"), textContent: "×"});
    close.addEventListener("click", () => (said.cleared ? tell(card, said, said.cleared) : remove(said)));
    const top = made("div", {className: "top"});
    top.append(made("h3", {textContent: said.title || "Homarus"}), made("time", {textContent: new Date().toLocaleTimeString([], {timeStyle: "short"})}), close);
    card.append(top, made("p", {textContent: said.body || ""}));
    if (said.image) {
      const picture = made("img", {src: said.image, alt: ""});
      picture.addEventListener("error", () => picture.remove());
      card.append(picture);
    }
    if (said.video) {
      card.append(made("video", {src: said.video, controls: true, playsInline: true, preload: "metadata"}));
    }
    const row = made("div", {className: "buttons"});
    if (said.url) {
      row.append(buttonOf(card, said, {uri: said.url, title: say("open")}));
    }
    row.append(...(said.buttons || []).map(each => buttonOf(card, said, each)));
    card.append(row, made("p", {className: "quiet", role: "status"}));
    cards.get(key(said))?.remove();
    cards.set(key(said), card);
    list.prepend(card);
    list.parentElement.hidden = false;
  }

  return {show};
}
