// A small chart of some channels over time, with a cursor at the time that is shown. The curves are drawn again only
// when there is something new; the cursor is an element that moves.
import type { Frame, FrameStore } from "../data/store";
import type { Theme } from "../scene/stage";
import { curveColors } from "../scene/palette";
import { el, rootScale, short } from "./dom";

const height = 108; // px, as all lengths here, at the usual scale
const margin = { left: 46, right: 8, top: 8, bottom: 18 };
const smallestDrawn = 1e-17; // on a logarithmic axis: zero has no logarithm

interface Axis {
  low: number;
  high: number;
  ticks: number[];
}

// Round numbers (1, 2, 5 times a power of ten) that cover the range in about `wanted` steps.
export function linearAxis(low: number, high: number, wanted = 3): Axis {
  if (!(high > low)) {
    const pad = Math.max(1e-12, 0.05 * Math.abs(low));
    low -= pad;
    high += pad;
  }
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((s) => s * power).find((s) => s >= rough * 0.999) ?? 10 * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  return { low: first * step, high: last * step, ticks };
}

// Without trailing zeros.
function tickText(tick: number): string {
  const size = Math.abs(tick);
  return size !== 0 && (size < 1e-3 || size >= 1e5)
    ? short(tick, 3)
    : String(Number(tick.toPrecision(6))).replace("-", "−");
}

// Whole decades, at most five of them labelled.
export function logAxis(low: number, high: number): Axis {
  const first = Math.floor(Math.log10(Math.max(low, smallestDrawn)) + 1e-9);
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(high, smallestDrawn)) - 1e-9));
  const stride = Math.ceil((last - first) / 4);
  const ticks: number[] = [];
  for (let decade = first; decade <= last; decade += stride) ticks.push(decade);
  return { low: first, high: last, ticks };
}

// Zero has none: it is not drawn.
function logarithm(value: number): number {
  return value > 0 ? Math.log10(Math.max(value, smallestDrawn)) : NaN;
}

// What a channel was since the frame before: the extremes, then the value at the frame.
function extent(frame: Frame, channel: number): [number, number, number] {
  const value = frame.values[channel]!;
  return [frame.low?.[channel] ?? value, frame.high?.[channel] ?? value, value];
}

export class Chart {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas");
  private readonly cursor = el("div", { class: "cursor" });
  private readonly readings: HTMLElement[] = [];
  private readonly swatches: HTMLElement[] = [];
  private readonly logarithmic: boolean;
  private readonly unit: string;
  private drawn = "";
  private theme: Theme = "light";

  // `channels` are indices into the channels of the store.
  constructor(
    readonly title: string,
    private readonly store: FrameStore,
    private readonly channels: number[],
    seek: (time: number) => void,
  ) {
    const infos = channels.map((c) => store.channels[c]!);
    this.logarithmic = infos.every((info) => info.logarithmic);
    this.unit = infos[0]?.unit ?? "";
    const legend = el("div", { class: "legend" });
    for (const info of infos) {
      const swatch = el("i");
      const reading = el("b");
      legend.append(el("span", {}, swatch, `${info.name} `, reading));
      this.swatches.push(swatch);
      this.readings.push(reading);
    }
    const plot = el("div", { class: "plot" }, this.canvas, this.cursor);
    const toTime = (event: Event): void => {
      const pointer = event as PointerEvent;
      if (pointer.type === "pointerdown") plot.setPointerCapture(pointer.pointerId);
      if (pointer.buttons === 0) return;
      const box = plot.getBoundingClientRect();
      const scale = rootScale();
      const s = ((pointer.clientX - box.left) / scale - margin.left) / (box.width / scale - margin.left - margin.right);
      seek(store.start + Math.min(1, Math.max(0, s)) * (store.end - store.start));
    };
    plot.addEventListener("pointerdown", toTime);
    plot.addEventListener("pointermove", toTime);
    this.element = el(
      "figure",
      { class: "chart" },
      el("figcaption", {}, title, this.unit ? el("small", {}, ` ${this.unit}`) : ""),
      plot,
      legend,
    );
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.swatches.forEach((swatch, i) => (swatch.style.background = this.color(i)));
    this.drawn = "";
  }

  private color(i: number): string {
    const colors = curveColors[this.theme];
    return colors[i % colors.length]!;
  }

  update(time: number, index: number): void {
    const scale = rootScale();
    const width = (this.canvas.parentElement?.clientWidth ?? 0) / scale;
    if (width === 0) return;
    const state = `${this.store.version} ${width} ${scale} ${this.theme}`;
    if (state !== this.drawn) {
      this.draw(width, scale);
      this.drawn = state;
    }
    const { start, end } = this.store;
    const s = end > start ? (time - start) / (end - start) : 0;
    const x = margin.left + Math.min(1, Math.max(0, s)) * (width - margin.left - margin.right);
    this.cursor.style.transform = `translateX(${scale * x}px)`;
    const values = this.store.frames[index]?.values;
    this.readings.forEach((reading, i) => {
      reading.textContent = values ? short(values[this.channels[i]!]!) : "";
    });
  }

  private range(): Axis {
    let low = Infinity;
    let high = -Infinity;
    for (const frame of this.store.frames) {
      for (const c of this.channels) {
        for (const value of extent(frame, c)) {
          if (!Number.isFinite(value) || (this.logarithmic && value <= 0)) continue;
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
      }
    }
    if (low > high) return this.logarithmic ? logAxis(1e-9, 1) : linearAxis(0, 1);
    return this.logarithmic ? logAxis(low, high) : linearAxis(low, high);
  }

  private draw(width: number, scale: number): void {
    const ratio = scale * Math.min(window.devicePixelRatio, 2);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${scale * height}px`;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    const style = getComputedStyle(this.element);
    const axis = this.range();
    const right = width - margin.right;
    const bottom = height - margin.bottom;
    const toY = (value: number): number =>
      bottom - ((value - axis.low) / (axis.high - axis.low)) * (bottom - margin.top);

    context.font = "11px system-ui, sans-serif";
    context.fillStyle = style.getPropertyValue("--soft");
    context.strokeStyle = style.getPropertyValue("--line");
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const tick of axis.ticks) {
      const y = Math.round(toY(tick)) + 0.5;
      context.beginPath();
      context.moveTo(margin.left, y);
      context.lineTo(right, y);
      context.stroke();
      context.fillText(this.logarithmic ? `1e${tick}` : tickText(tick), margin.left - 6, y);
    }
    context.textBaseline = "top";
    context.textAlign = "left";
    context.fillText(`${short(this.store.start, 3)} s`, margin.left, bottom + 5);
    context.textAlign = "right";
    context.fillText(`${short(this.store.end, 3)} s`, right, bottom + 5);
    for (let i = this.channels.length - 1; i >= 0; --i) {
      context.strokeStyle = this.color(i); // the first on top
      this.drawCurve(context, this.channels[i]!, margin.left, right, toY);
    }
  }

  // A frame stands for all steps since the one before it: there the curve goes through their extremes, and a peak between
  // two frames is seen. Many frames share a column of pixels: there the curve is the range of their values.
  private drawCurve(
    context: CanvasRenderingContext2D,
    channel: number,
    left: number,
    right: number,
    toY: (value: number) => number,
  ): void {
    const { frames, start, end } = this.store;
    const span = end - start || 1;
    context.lineWidth = 1.6;
    context.lineJoin = "round";
    context.beginPath();
    let pen = false;
    let column = -1;
    let low = 0;
    let high = 0;
    for (const frame of frames) {
      const x = left + ((frame.time - start) / span) * (right - left);
      const here = Math.floor(x * 2);
      const heights = extent(frame, channel).map((value) => toY(this.logarithmic ? logarithm(value) : value));
      if (pen && here === column && heights.every((y) => y >= low && y <= high)) continue;
      if (here !== column) [column, low, high] = [here, Infinity, -Infinity];
      for (const y of heights) {
        if (!Number.isFinite(y)) {
          pen = false;
          continue;
        }
        low = Math.min(low, y);
        high = Math.max(high, y);
        if (pen) context.lineTo(x, y);
        else context.moveTo(x, y);
        pen = true;
      }
    }
    context.stroke();
  }
}
