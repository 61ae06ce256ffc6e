// What the length of a force's arrow means: an arrow of the picture's scale beside its force. It is part of the picture,
// also where the rest of the interface is not shown.
import type { Arrows } from "../scene/forces";
import { legendArrow, newtonText } from "../scene/forces";
import { el, rootScale } from "./dom";

const wantedPixels = 90;
const headPixels = 9;
const arrowHeight = 12;

export interface ForceLegendState {
  arrows: Arrows | null; // null: not shown
  cut: number;
  pixelsPerNewton: number; // where the camera looks
  longest: number; // N, of an arrow that is not cut
}

interface Content {
  pixels: number;
  text: string;
  notes: string[];
}

function contentOf(state: ForceLegendState): Content | null {
  const { arrows, cut, pixelsPerNewton, longest } = state;
  if (!arrows || arrows.all === 0) return null;
  const legend = legendArrow(pixelsPerNewton, Math.min(wantedPixels * rootScale(), pixelsPerNewton * longest));
  if (!legend) return null;
  const notes = ["contact force"];
  if (arrows.patches) notes.push("one arrow for each patch of contacts");
  if (arrows.all > arrows.count) notes.push(`the ${arrows.count} strongest of ${arrows.all}`);
  if (cut > 0) notes.push(`two heads: more than ${newtonText(longest)}, ${cut} cut`);
  return { pixels: legend.pixels, text: newtonText(legend.newtons), notes };
}

// Along x, from the left.
function outline(length: number, middle: number): [number, number][] {
  const head = Math.min(headPixels, 0.5 * length);
  return [
    [0, middle - 1.2],
    [length - head, middle - 1.2],
    [length - head, middle - 4],
    [length, middle],
    [length - head, middle + 4],
    [length - head, middle + 1.2],
    [0, middle + 1.2],
  ];
}

export class ForceLegend {
  readonly element = el("div", {
    class: "forces card",
    hidden: true,
    role: "note",
    "aria-label": "Scale of the forces",
  });
  private shown = "";
  private content: Content | null = null;

  update(state: ForceLegendState): void {
    this.content = contentOf(state);
    this.element.hidden = this.content === null;
    if (!this.content) return;
    const { pixels, text, notes } = this.content;
    const key = JSON.stringify([Math.round(10 * pixels), text, notes]);
    if (key === this.shown) return;
    this.shown = key;
    const points = outline(pixels, arrowHeight / 2).map((point) => point.map((c) => c.toFixed(1)).join(","));
    const svg = `<svg width="${pixels.toFixed(1)}" height="${arrowHeight}" aria-hidden="true"><polygon points="${points.join(" ")}"/></svg>`;
    const arrow = el("span", { class: "arrow" });
    arrow.innerHTML = svg; // numbers only
    this.element.replaceChildren(arrow, el("b", {}, text), ...notes.map((note) => el("small", {}, note)));
  }

  // Into a picture that has no page around it; `scale` is the picture's pixels for one of the page's.
  drawInto(context: CanvasRenderingContext2D, height: number, scale: number): void {
    if (!this.content) return;
    const { pixels, text, notes } = this.content;
    const style = getComputedStyle(this.element);
    const color = (name: string): string => style.getPropertyValue(name);
    context.save();
    context.scale(scale, scale);
    context.font = "600 13px system-ui, sans-serif";
    const bold = context.measureText(text).width;
    context.font = "12px system-ui, sans-serif";
    const words = notes.join(" · ");
    const width = 12 + pixels + 10 + bold + (words ? 10 + context.measureText(words).width : 0) + 12;
    context.translate(12, height / scale - 12 - 28);
    context.globalAlpha = 0.86;
    context.fillStyle = color("--solid");
    context.beginPath();
    context.roundRect(0, 0, width, 28, 8);
    context.fill();
    context.globalAlpha = 1;
    context.fillStyle = color("--force");
    context.beginPath();
    for (const [x, y] of outline(pixels, 14)) context.lineTo(12 + x, y);
    context.fill();
    context.textBaseline = "middle";
    context.fillStyle = color("--ink");
    context.font = "600 13px system-ui, sans-serif";
    context.fillText(text, 22 + pixels, 14.5);
    context.fillStyle = color("--soft");
    context.font = "12px system-ui, sans-serif";
    context.fillText(words, 32 + pixels + bold, 14.5);
    context.restore();
  }

  // For tests.
  get state(): Content | null {
    return this.content;
  }
}
