// What an agent shows here: a page of its canvas in a frame of another origin, an address as a link, and surfaces of A2UI.
import {CommandFailed} from "/p/node.js";

const LOAD_MS = 10_000;
const ANSWER_MS = 15_000;
const TEXT_LIMIT = 20_000;
const origin = document.documentElement.dataset.canvas;
const at = id => document.getElementById(id);

// Settles with a promise, or fails after so long.
function within(limitMs, what, begin) {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new CommandFailed("TIMEOUT", what)), limitMs);
    begin(resolve);
  });
}

// `press({surface, component, values})` hands on a press; `note(text)` tells the person something.
export function canvasOf({say, note, press}) {
  let drawn = 0;

  function appear() {
    at("shown").hidden = at("frame").hidden && at("shown-link").hidden && !drawn;
    at("surfaces").hidden = !drawn;
  }

  // A page of the canvas is framed without credentials; of any other address nothing is loaded until its reader opens it.
  async function show(text) {
    const url = text && URL.canParse(text, location.href) ? new URL(text, location.href) : null;
    if (text && !/^https?:$/.test(url?.protocol || "")) {
      throw new CommandFailed("INVALID_PARAMS", "url: expected an http(s) address");
    }
    const frame = at("frame");
    const framed = Boolean(url && origin && url.origin === origin);
    frame.hidden = !framed;
    at("shown-link").hidden = !url || framed;
    at("shown-link").href = at("shown-link").textContent = framed ? "" : url?.href || "";
    appear();
    if (framed) {
      await within(LOAD_MS, "the page does not load", loaded => {
        frame.addEventListener("load", loaded, {once: true});
        frame.src = url.href;
      });
    } else {
      frame.removeAttribute("src");
    }
    return {};
  }

  async function ask(what, script) {
    const frame = at("frame");
    if (frame.hidden && what === "snapshot") {
      return {value: at("surfaces").innerText.slice(0, TEXT_LIMIT)};
    }
    if (frame.hidden) {
      throw new CommandFailed("INVALID_REQUEST", "no page is shown: a script runs in a page");
    }
    const canvas = crypto.randomUUID();
    const answer = await within(ANSWER_MS, "the page does not answer", heard => {
      addEventListener("message", function hear({source, data}) {
        if (source === frame.contentWindow && data?.canvas === canvas) {
          removeEventListener("message", hear);
          heard(data);
        }
      });
      frame.contentWindow.postMessage({canvas, what, script}, "*");
    });
    if (answer.ok !== true) {
      throw new CommandFailed("UNAVAILABLE", String(answer.value));
    }
    return {value: String(answer.value), image: String(answer.image || "")};
  }

  async function draw(surfaces, files) {
    if (!Array.isArray(surfaces)) {
      throw new CommandFailed("INVALID_PARAMS", "surfaces: expected a list");
    }
    const a2ui = await import("/canvas/a2ui.js");
    a2ui.draw(surfaces, at("surfaces"), files, (surface, component, values) =>
      press({surface, component, values}).then(
        () => note(say("pressed")),
        error => note(say("failed", {why: error.message})),
      ),
    );
    drawn = surfaces.length;
    appear();
    return {};
  }

  async function hide() {
    if (drawn) {
      await draw([], "");
    }
    return show("");
  }

  return {show, ask, draw, hide};
}
