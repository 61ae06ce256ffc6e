// The bar at the bottom: play, step, scrub, speed.
import type { FrameStore } from "../data/store";
import { el, fixed, icon, iconButton, short } from "./dom";
import { Marks } from "./marks";

export const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10];

export interface TransportActions {
  toggle(): void;
  step(direction: 1 | -1): void;
  reset(): void;
  latest(): void;
  seek(time: number): void;
  setSpeed(speed: number): void;
}

export interface TransportState {
  playing: boolean;
  time: number;
  start: number;
  end: number;
  speed: number;
  live: boolean;
  atLatest: boolean;
  theme: string;
  achieved: number | null; // simulated seconds for a second
}

const sliderSteps = 10000;
const keptUp = 0.9; // share of the wanted speed

export class Transport {
  readonly element: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly latest: HTMLButtonElement;
  private readonly slider: HTMLInputElement;
  private readonly clock = el("output", { class: "clock" });
  private readonly speed: HTMLSelectElement;
  private readonly rate = el("output", { class: "rate", hidden: true, "aria-label": "Achieved speed" });
  readonly marks: Marks;
  private shownPlaying: boolean | null = null;
  private start = 0;
  private end = 0;

  constructor(actions: TransportActions, store: FrameStore) {
    this.marks = new Marks(store);
    this.play = iconButton("play", "Play (space)", () => {
      actions.toggle();
    });
    this.play.classList.add("main");
    this.latest = iconButton("latest", "Go to the present (end)", () => {
      actions.latest();
    });
    this.slider = el("input", {
      type: "range",
      min: 0,
      max: sliderSteps,
      value: 0,
      "aria-label": "Time",
      input: () => {
        actions.seek(this.start + (Number(this.slider.value) / sliderSteps) * (this.end - this.start));
      },
    });
    this.speed = el(
      "select",
      {
        "aria-label": "Speed",
        title: "Wanted speed: simulated seconds for a second ([ and ])",
        change: () => {
          actions.setSpeed(Number(this.speed.value));
        },
      },
      ...speeds.map((speed) => el("option", { value: speed }, `${speed}×`)),
    );
    const back = iconButton("back", "One frame back (left)", () => {
      actions.step(-1);
    });
    const forward = iconButton("forward", "One step (right)", () => {
      actions.step(1);
    });
    const reset = iconButton("start", "Reset (R)", () => {
      actions.reset();
    });
    const buttons = el("div", { class: "buttons" }, reset, back, this.play, forward, this.latest);
    const line = el("div", { class: "timeline" }, this.marks.element, this.slider);
    const speed = el("div", { class: "speed" }, this.speed, this.rate);
    this.element = el("footer", { class: "transport card" }, buttons, line, this.clock, speed);
  }

  // Live always; a replay is as fast as wanted unless the page cannot keep up.
  private showRate({ achieved, speed, live }: TransportState): void {
    const slow = achieved !== null && achieved < keptUp * speed;
    this.rate.hidden = achieved === null || (!live && !slow);
    if (achieved === null) return;
    this.rate.textContent = `real ${achieved > 0 && achieved < 0.01 ? short(achieved, 1) : short(achieved, 2)}×`;
    this.rate.classList.toggle("slow", slow);
    const reason = live ? "the simulation takes longer" : "drawing takes longer";
    this.rate.title = `Achieved: simulated seconds for a second${slow ? `; ${speed} is wanted, but ${reason}` : ""}`;
  }

  update(state: TransportState): void {
    if (state.playing !== this.shownPlaying) {
      const title = state.playing ? "Pause (space)" : "Play (space)";
      this.play.replaceChildren(icon(state.playing ? "pause" : "play"));
      this.play.title = title;
      this.play.setAttribute("aria-label", title);
      this.shownPlaying = state.playing;
    }
    this.start = state.start;
    this.end = state.end;
    const span = state.end - state.start;
    const s = span > 0 ? (state.time - state.start) / span : 0;
    this.slider.value = String(Math.round(s * sliderSteps));
    this.slider.style.setProperty("--filled", `${(100 * s).toFixed(2)}%`);
    this.slider.title = this.marks.update(state.theme);
    this.clock.textContent = state.live
      ? `${fixed(state.time, 3)} s`
      : `${fixed(state.time, 3)} / ${fixed(state.end, 2)} s`;
    this.latest.hidden = !state.live;
    this.latest.disabled = state.atLatest;
    this.showRate(state);
    const speed = String(state.speed);
    if (this.speed.value !== speed) {
      if (![...this.speed.options].some((option) => option.value === speed)) {
        this.speed.append(el("option", { value: speed }, `${speed}×`));
      }
      this.speed.value = speed;
    }
  }
}
