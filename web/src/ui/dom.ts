// Small helpers for building the interface.

type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

// el("button", { class: "round", title: "Play", click: play }, icon): functions are listeners, false leaves out.
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

const shapes = {
  play: "M7 4.5v15l12.5-7.5z",
  pause: "M6.5 4.5h4v15h-4zM13.5 4.5h4v15h-4z",
  forward: "M5 5v14l9-7zM16 5h3v14h-3z",
  back: "M19 5v14l-9-7zM5 5h3v14H5z",
  start: "M12 5a7 7 0 1 1-6.6 4.7l1.9.7A5 5 0 1 0 12 7v3L6.8 6 12 2z",
  latest: "M4 5v14l7-7zM12 5v14l7-7zM19 5h2v14h-2z",
  fit: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  panel: "M3 5h18v14H3zm2 2v10h9V7zm11 0v10h3V7z",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
};
export type IconName = keyof typeof shapes;

export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", shapes[name]);
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}

export function iconButton(name: IconName, title: string, click: () => void): HTMLButtonElement {
  return el("button", { class: "icon", title, "aria-label": title, type: "button", click }, icon(name));
}

// Four digits, exponents only where they are needed.
export function short(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  let text = value.toPrecision(digits);
  if (size < 1e-3 || size >= 1e5) text = value.toExponential(Math.max(0, digits - 3));
  else if (text.includes("e")) text = String(Math.round(value)); // more digits before the point than asked for
  return text.replace("e+", "e").replaceAll("-", "−");
}

// Always the same width, for figures that change.
export function fixed(value: number, decimals: number): string {
  return (Math.abs(value) < 0.5 * 10 ** -decimals ? 0 : value).toFixed(decimals).replace("-", "−");
}

// How much larger than usual everything is: on wide screens the root's font is (style.css).
export function rootScale(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}
