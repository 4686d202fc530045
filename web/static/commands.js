// Completes slash commands and their choices: arrow keys, Tab or Enter, or a finger on the list.

/**
 * Offer commands below a text box that begins with a slash.
 * @param {HTMLTextAreaElement} box
 * @param {HTMLElement} list a listbox, hidden
 */
export function completes(box, list) {
  let commands = null;
  let shown = [];
  let at = -1;

  async function load() {
    commands = []; // asked for once; a second slash asks again when that failed
    const answer = await fetch("/chat/commands", { headers: { Accept: "application/json" } }).catch(() => null);
    commands = answer?.ok ? (await answer.json()).commands : null;
    if (commands) offer();
  }

  /** Return what the text may become: whole texts, each with what is shown of it. */
  function found() {
    const text = box.value;
    const [, name, argument] = text.match(/^\/([a-z0-9_]*)(?:[ ](\S*))?$/i) ?? [];
    if (name === undefined || box.selectionStart < text.length) return [];
    const called = (command, word) => command.textAliases.some((alias) => alias === `/${word}`);
    if (argument === undefined) {
      return commands
        .filter(({ textAliases }) => textAliases.some((alias) => alias.startsWith(text.toLowerCase())))
        .sort((one, other) => called(other, name) - called(one, name))
        .map((command) => ({
          text: called(command, name) ? text : `/${command.name}`,
          label: `/${command.name} ${command.args?.[0].description ?? ""}`.trim(),
          about: command.description,
          more: command.acceptsArgs,
        }));
    }
    const choices = commands.find((command) => called(command, name))?.args?.[0].choices ?? [];
    return choices
      .map(({ value }) => value)
      .filter((choice) => choice.startsWith(argument.toLowerCase()))
      .map((choice) => ({ text: `/${name} ${choice}`, label: choice, about: "", more: false }));
  }

  function offer() {
    if (!box.value.startsWith("/")) return close();
    if (commands === null) return void load();
    shown = found();
    if (shown.length === 1 && shown[0].text === box.value && !shown[0].about) shown = [];
    if (!shown.length) return close();
    list.replaceChildren(...shown.map(({ label, about }, index) => {
      const item = document.createElement("li");
      item.id = `completion-${index}`;
      item.role = "option";
      const code = document.createElement("code");
      const words = document.createElement("small");
      [code.textContent, words.textContent] = [label, about];
      item.append(code, " ", words);
      item.addEventListener("click", () => take(index));
      return item;
    }));
    list.hidden = false;
    move(/ $/.test(box.value) ? -1 : 0); // what can stand alone is sent by Enter, until a choice is looked at
  }

  function close() {
    shown = [];
    list.hidden = true;
    box.removeAttribute("aria-activedescendant");
  }

  function move(to) {
    at = to;
    [...list.children].forEach((item, index) => { item.ariaSelected = String(index === at); });
    if (at < 0) return box.removeAttribute("aria-activedescendant");
    box.setAttribute("aria-activedescendant", `completion-${at}`);
    list.children[at].scrollIntoView({ block: "nearest" });
  }

  function take(index) {
    const { text, more } = shown[index];
    box.value = more ? `${text} ` : text;
    close();
    box.focus();
    box.dispatchEvent(new Event("input", { bubbles: true }));
    if (!more) close();
  }

  function keydown(event) {
    if (!shown.length || event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey) return;
    const count = shown.length;
    const { key } = event;
    if (key === "ArrowDown") move((at + 1) % count);
    else if (key === "ArrowUp") move((at <= 0 ? count : at) - 1);
    else if (key === "Tab" && !event.shiftKey) take(Math.max(at, 0));
    else if (key === "Enter" && !event.shiftKey && at >= 0 && shown[at].text !== box.value) take(at);
    else if (key === "Escape") close();
    else if (key === "Enter") return close(); // and the message is sent
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  box.addEventListener("keydown", keydown, { capture: true });
  box.addEventListener("input", offer);
  box.addEventListener("blur", close);
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
}
