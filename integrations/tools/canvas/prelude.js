// At the head of each page of a canvas, before its own scripts: takes away what leaves the machine past the page's policy.
// A document of a frame's `srcdoc` would have it again, so there is none.
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) delete globalThis[name];
globalThis.trustedTypes?.createPolicy("default", {
  createHTML: (html, type, sink) => (sink?.includes("srcdoc") ? "" : html.replace(/srcdoc/gi, "srcd0c")),
  createScript: (script) => script,
  createScriptURL: (url) => url,
});
document.currentScript.remove();
