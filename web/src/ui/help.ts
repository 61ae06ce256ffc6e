// The overlay that explains mouse and keys.
import { el } from "./dom";

const rows: [string, string][] = [
  ["drag", "orbit"],
  ["right drag, ctrl drag", "pan"],
  ["wheel", "zoom"],
  ["click", "select a body"],
  ["shift drag", "pull a body with a spring (live)"],
  ["space", "play, pause"],
  ["→ ←", "one step forward, one frame back"],
  ["R", "reset"],
  ["home, end", "first frame, last frame"],
  ["[ ]", "slower, faster"],
  ["F", "follow the selected body"],
  ["Z", "show everything"],
  ["1 2 0", "visual shapes, collision shapes, hidden groups"],
  ["3 4 5", "contact points, forces, friction cones"],
  ["6 7 8 9", "frames, joint axes, inertias, islands"],
  ["L", "joints that close loops: green closed, red open"],
  ["G", "ground and grid"],
  ["P", "panel"],
  ["T", "light, dark"],
  ["?", "this help"],
  ["esc", "close, deselect"],
];

export class Help {
  readonly element: HTMLElement;

  constructor() {
    const close = (): void => {
      this.toggle(false);
    };
    const keys = el("dl");
    for (const [key, meaning] of rows) keys.append(el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning));
    const box = el(
      "div",
      {
        class: "card dialog",
        role: "dialog",
        "aria-label": "Help",
        click: (event) => {
          event.stopPropagation();
        },
      },
      el("h2", {}, "Mouse and keys"),
      keys,
      el("button", { type: "button", class: "text", click: close }, "Close"),
    );
    this.element = el("div", { class: "overlay", hidden: true, click: close }, box);
  }

  get open(): boolean {
    return !this.element.hidden;
  }

  toggle(open = !this.open): void {
    this.element.hidden = !open;
  }
}
