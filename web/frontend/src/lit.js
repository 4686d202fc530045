// The part of Lit that the dashboard uses: elements and the `repeat` directive.
export { html, LitElement, nothing } from "lit";
export { repeat } from "lit/directives/repeat.js";
