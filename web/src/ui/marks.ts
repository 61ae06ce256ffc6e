// Marks over the time line: moments at which contacts changed, velocities jumped, or another rule made the step.
import { markKind, type FrameStore } from "../data/store";
import { el, rootScale } from "./dom";

const height = 18; // px, as all lengths here, at the usual scale
const inset = 7; // half of the slider's thumb, whose centre goes from one end to the other
// The last on top.
const kinds = [
  { kind: markKind.event, color: "--soft", top: 12, bottom: 18, name: "change of contact" },
  { kind: markKind.impact, color: "--accent", top: 0, bottom: 6, name: "impact" },
  { kind: markKind.fallback, color: "--warn", top: 0, bottom: 18, name: "step made by another rule" },
];

function counted(count: number, name: string): string {
  const [first, ...rest] = name.split(" ");
  return [count, count === 1 ? first : `${first}s`, ...rest].join(" ");
}

export class Marks {
  readonly element = el("canvas", { class: "marks", "aria-hidden": "true" });
  count = 0;
  private drawn = "";

  constructor(private readonly store: FrameStore) {}

  // Draws if there is something new; says in words what is there.
  update(theme: string): string {
    const scale = rootScale();
    const width = this.element.clientWidth / scale;
    const state = `${this.store.version} ${width} ${scale} ${theme}`;
    if (state === this.drawn || width === 0) return this.element.title;
    this.drawn = state;
    const marks = this.store.marks;
    this.count = marks.length;
    const ratio = scale * Math.min(window.devicePixelRatio, 2);
    this.element.width = Math.round(width * ratio);
    this.element.height = Math.round(height * ratio);
    const context = this.element.getContext("2d");
    if (!context) return "";
    context.scale(ratio, ratio);
    const { start, end } = this.store;
    const colors = getComputedStyle(this.element);
    const words: string[] = [];
    for (const { kind, color, top, bottom, name } of kinds) {
      const some = marks.filter((mark) => mark.kind === kind);
      if (some.length > 0) words.push(counted(some.length, name));
      context.fillStyle = colors.getPropertyValue(color);
      for (const { time } of some) {
        const s = end > start ? (time - start) / (end - start) : 0;
        context.fillRect(inset + s * (width - 2 * inset) - 0.75, top, 1.5, bottom - top);
      }
    }
    return (this.element.title = words.join(", "));
  }
}
