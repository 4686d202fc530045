// Draws surfaces of A2UI 0.8 with elements and texts alone: nothing that an agent says becomes HTML, style or script.
const DEPTH_LIMIT = 40;
const ITEMS_LIMIT = 500;
const HEADINGS = { h1: "h2", h2: "h3", h3: "h4", h4: "h5", h5: "h6", caption: "small" }; // h1 is the page's own
const JUSTIFY = {
  start: "flex-start", center: "center", end: "flex-end",
  spaceBetween: "space-between", spaceAround: "space-around", spaceEvenly: "space-evenly",
};
const ALIGN = { start: "flex-start", center: "center", end: "flex-end", stretch: "stretch" };
const FIELDS = { shortText: "text", number: "number", date: "date" };
const WIDTHS = { icon: "1.5rem", avatar: "3rem", smallFeature: "6rem", mediumFeature: "14rem", largeFeature: "24rem", header: "100%" };
const ICONS = {
  add: "+", arrowBack: "←", arrowForward: "→", call: "☎", check: "✓", close: "✕", delete: "🗑", edit: "✎", error: "⚠",
  favorite: "♥", help: "?", home: "⌂", info: "ℹ", lock: "🔒", mail: "✉", menu: "☰", search: "🔍", send: "➤", star: "★", warning: "⚠",
};
const drawn = new Map(); // id → surface, its element, and its data with what the person filled in

/** Show these surfaces and no others; `press(surface, component, values)` is called when a button is pressed. */
export function draw(surfaces, place, files, press) {
  for (const [id, known] of drawn) {
    if (surfaces.some((each) => each.id === id)) continue;
    known.element.remove();
    drawn.delete(id);
  }
  for (const surface of surfaces) {
    const known = drawn.get(surface.id);
    const same = known?.surface.data_version === surface.data_version;
    if (same && JSON.stringify(known.surface) === JSON.stringify(surface)) continue;
    const element = known?.element ?? make("section", { className: "surface" });
    const scene = { surface, element, files, press, data: same ? known.data : structuredClone(surface.data), fresh: [] };
    drawn.set(surface.id, scene);
    element.dataset.surface = surface.id;
    element.replaceChildren(...(surface.root ? [build(scene, surface.root, "", [])] : []));
    if (!element.isConnected) place.append(element);
  }
}

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// -- data -------------------------------------------------------------------------------------------------------------

const absolute = (path, scope) => (path.startsWith("/") ? path : `${scope}/${path}`);
const names = (path) => path.split("/").filter(Boolean);

function get(scene, path) {
  return names(path).reduce((at, name) => (at && Object.hasOwn(at, name) ? at[name] : undefined), scene.data);
}

function set(scene, path, value) {
  const keys = names(path);
  const last = keys.pop();
  if (last === undefined || [...keys, last].some((name) => name === "__proto__")) return;
  let at = scene.data;
  for (const name of keys) at = Object.hasOwn(at, name) && typeof at[name] === "object" ? at[name] : (at[name] = {});
  at[last] = value;
  for (const refresh of scene.fresh) refresh();
}

/** The value that a component is bound to; a literal beside a path is what it begins with. */
function value(scene, bound, scope) {
  if (!bound || typeof bound !== "object") return undefined;
  const literal = Object.keys(bound).find((name) => name.startsWith("literal"));
  if (typeof bound.path !== "string") return literal && bound[literal];
  const path = absolute(bound.path, scope);
  const found = get(scene, path);
  if (found === undefined && literal) set(scene, path, bound[literal]);
  return found ?? (literal && bound[literal]);
}

function live(scene, refresh) {
  scene.fresh.push(refresh);
  refresh();
}

const text = (found) => (found === undefined || found === null || typeof found === "object" ? "" : String(found));

// -- components -------------------------------------------------------------------------------------------------------

function build(scene, id, scope, above) {
  const item = Object.hasOwn(scene.surface.components, id) && scene.surface.components[id];
  if (!item || above.includes(id) || above.length > DEPTH_LIMIT) return make("span");
  const [[kind, properties]] = Object.entries(item.component);
  const child = (inner, within = scope) => build(scene, String(inner), within, [...above, id]);
  const element = BUILDERS[kind]({ scene, id, scope, child, p: properties });
  if (typeof item.weight === "number") element.style.flexGrow = item.weight;
  return element;
}

function children({ scene, scope, child, p }) {
  if (Array.isArray(p.children?.explicitList)) return p.children.explicitList.map((id) => child(id));
  const template = p.children?.template;
  if (!template) return [];
  const path = absolute(String(template.dataBinding), scope);
  const items = Object.keys(get(scene, path) ?? {}).slice(0, ITEMS_LIMIT);
  return items.map((key) => child(template.componentId, `${path}/${key}`));
}

function flex(direction) {
  return (it) => {
    const element = make("div", {}, ...children(it));
    const along = it.p.direction === "horizontal" ? "row" : direction;
    element.style.cssText = `display: flex; flex-direction: ${along}; flex-wrap: wrap; gap: .75rem`;
    element.style.justifyContent = JUSTIFY[it.p.distribution] ?? "";
    element.style.alignItems = ALIGN[it.p.alignment] ?? "";
    return element;
  };
}

/** An input with its label, bound to a path: what is filled in goes into the data of this tab. */
function input({ scene, scope, p }, bound, element, read, write) {
  live(scene, () => { if (document.activeElement !== element) write(value(scene, bound, scope)); });
  element.addEventListener("input", () => {
    if (typeof bound?.path === "string") set(scene, absolute(bound.path, scope), read());
  });
  const label = make("span");
  live(scene, () => { label.textContent = text(value(scene, p.label, scope)); });
  const before = element.type !== "checkbox";
  return make("label", {}, ...(before ? [label, " ", element] : [element, " ", label]));
}

function field(it, bound, element) {
  return input(it, bound, element, () => element.value, (found) => { element.value = text(found); });
}

const BUILDERS = {
  Text({ scene, scope, p }) {
    const element = make(HEADINGS[p.usageHint] ?? "p", { dir: "auto" });
    live(scene, () => { element.textContent = text(value(scene, p.text, scope)); });
    return element;
  },
  Image({ scene, scope, p }) {
    const element = make("img", { alt: "" });
    element.style.cssText = `max-width: 100%; width: ${WIDTHS[p.usageHint] ?? "auto"}`;
    element.style.objectFit = p.fit ?? "";
    live(scene, () => {
      const url = text(value(scene, p.url, scope));
      const own = /^[\w./ -]+$/.test(url) && !url.includes("..") && !url.startsWith("/");
      if (url.startsWith("data:image/")) element.src = url;
      else if (own) element.src = scene.files + encodeURI(url);
      else element.removeAttribute("src");
    });
    return element;
  },
  Icon({ scene, scope, p }) {
    const name = text(value(scene, p.name, scope));
    const element = make("span", { textContent: Object.hasOwn(ICONS, name) ? ICONS[name] : "•", role: "img" });
    element.setAttribute("aria-label", name);
    return element;
  },
  Divider: () => make("hr"),
  Row: flex("row"),
  Column: flex("column"),
  List: flex("column"),
  Card: ({ child, p }) => make("section", { className: "card" }, make("div", { className: "body" }, child(p.child))),
  Tabs({ scene, scope, child, p }) {
    const items = Array.isArray(p.tabItems) ? p.tabItems : [];
    const panels = items.map((item, at) => make("div", { hidden: at > 0 }, child(item.child)));
    const buttons = items.map((item, at) => make("button", {
      type: "button",
      textContent: text(value(scene, item.title, scope)),
      onclick: () => panels.forEach((panel, other) => { panel.hidden = other !== at; }),
    }));
    return make("div", {}, make("div", {}, ...buttons), ...panels);
  },
  Modal({ child, p }) {
    const dialog = make("dialog", {}, child(p.contentChild), make("form", { method: "dialog" }, make("button", { textContent: "✕" })));
    const entry = make("div", { onclick: () => dialog.showModal() }, child(p.entryPointChild));
    return make("div", {}, entry, dialog);
  },
  Button({ scene, id, scope, child, p }) {
    const button = make("button", { type: "button", className: p.primary ? "button primary" : "button" }, child(p.child));
    button.addEventListener("click", (event) => {
      if (!event.isTrusted) return; // a person presses, no script does
      const context = Array.isArray(p.action?.context) ? p.action.context : [];
      const values = context.map((each) => [each.key, value(scene, each.value, scope) ?? null]);
      scene.press(scene.surface.id, id, Object.fromEntries(values));
    });
    return button;
  },
  CheckBox(it) {
    const box = make("input", { type: "checkbox" });
    return input(it, it.p.value, box, () => box.checked, (found) => { box.checked = found === true; });
  },
  TextField(it) {
    const kind = it.p.textFieldType;
    return field(it, it.p.text, kind === "longText" ? make("textarea") : make("input", { type: FIELDS[kind] ?? "text" }));
  },
  DateTimeInput(it) {
    const { enableDate = true, enableTime = false } = it.p;
    return field(it, it.p.value, make("input", { type: enableDate ? (enableTime ? "datetime-local" : "date") : "time" }));
  },
  Slider(it) {
    const slider = make("input", { type: "range", min: it.p.minValue ?? 0, max: it.p.maxValue ?? 100 });
    return input(it, it.p.value, slider, () => Number(slider.value), (found) => { slider.value = text(found); });
  },
  MultipleChoice(it) {
    const options = (Array.isArray(it.p.options) ? it.p.options : []).map((option) => make("option", {
      value: String(option.value),
      textContent: text(value(it.scene, option.label, it.scope)),
    }));
    const list = make("select", { multiple: it.p.maxAllowedSelections !== 1 }, ...options);
    const read = () => [...list.selectedOptions].map((option) => option.value);
    return input(it, it.p.selections, list, read, (found) => {
      for (const option of list.options) option.selected = Object.values(found ?? {}).includes(option.value);
    });
  },
};
