// At the head of each page of a canvas, before its own scripts: takes away what leaves the machine past the page's policy.
// A document within a frame would have it again: each frame is removed before it loads, and no shadow tree escapes that.
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) delete globalThis[name];
for (const place of [Element.prototype, ShadowRoot.prototype, Document]) {
  for (const name of Object.getOwnPropertyNames(place)) if (name.endsWith("Unsafe")) delete place[name];
}
{
  const { apply } = Reflect;
  const Observer = MutationObserver;
  const { observe } = Observer.prototype;
  const { attachShadow, remove } = Element.prototype;
  const everything = { __proto__: null, childList: true, subtree: true };
  const watch = (root, query) => {
    const observer = new Observer(() => {
      const frames = apply(query, root, ["iframe, frame"]);
      for (let at = 0; frames[at]; at++) apply(remove, frames[at], []);
    });
    apply(observe, observer, [root, everything]);
  };
  const inShadow = DocumentFragment.prototype.querySelectorAll;
  Element.prototype.attachShadow = function (options) {
    const root = apply(attachShadow, this, [options]);
    watch(root, inShadow);
    return root;
  };
  watch(document, Document.prototype.querySelectorAll);
  Document.prototype.write = Document.prototype.writeln = function (...parts) {
    const script = this.currentScript;
    if (!this.documentElement) this.append(this.createElement("html"));
    (script ?? this.body ?? this.documentElement).insertAdjacentHTML(script ? "beforebegin" : "beforeend", parts.join(""));
  };
}
globalThis.trustedTypes?.createPolicy("default", {
  createHTML: (html) => html,
  createScript: (script) => script,
  createScriptURL: (url) => url,
});
document.currentScript.remove();
