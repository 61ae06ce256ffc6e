// The panel at the right: what is shown, the selected body, the live simulation's settings and controls, the charts.
import type { SceneInfo } from "../data/document";
import type { Command, LiveState, Range } from "../data/live";
import { modeColors, modeNames } from "../scene/palette";
import { el, fixed, short } from "./dom";

export const toggleNames = {
  visual: "Visual shapes",
  collision: "Collision shapes",
  hidden: "Hidden groups",
  contacts: "Contact points",
  forces: "Forces",
  cones: "Friction cones",
  frames: "Frames",
  joints: "Joint axes",
  loops: "Loops",
  inertia: "Inertias",
  islands: "Islands",
  ground: "Ground",
};
export type Toggle = keyof typeof toggleNames;
export type Toggles = Record<Toggle, boolean>;

// The chips of what can be shown or hidden; those about contacts only when there are contacts.
export class DisplaySection {
  readonly element = el("section", {}, el("h2", {}, "Show"));
  private readonly chips = new Map<Toggle, HTMLButtonElement>();
  private readonly legend = el("div", { class: "legend modes" });

  constructor(toggle: (name: Toggle) => void) {
    const row = el("div", { class: "chips" });
    for (const name of Object.keys(toggleNames) as Toggle[]) {
      const chip = el(
        "button",
        {
          type: "button",
          class: "chip",
          "data-toggle": name,
          click: () => {
            toggle(name);
          },
        },
        toggleNames[name],
      );
      this.chips.set(name, chip);
      row.append(chip);
    }
    modeNames.forEach((name, i) => {
      const swatch = el("i");
      swatch.style.background = `#${modeColors[i]!.getHexString()}`;
      this.legend.append(el("span", {}, swatch, name));
    });
    this.element.append(row, this.legend);
  }

  update(toggles: Toggles, hasContacts: boolean, hasHidden: boolean, hasLoops: boolean): void {
    for (const [name, chip] of this.chips) {
      chip.setAttribute("aria-pressed", String(toggles[name]));
      if (name === "contacts" || name === "forces" || name === "cones" || name === "islands")
        chip.hidden = !hasContacts;
      if (name === "hidden") chip.hidden = !hasHidden;
      if (name === "loops") chip.hidden = !hasLoops;
    }
    this.legend.hidden = !hasContacts || !(toggles.contacts || toggles.cones);
  }
}

export interface Selection {
  body: number;
  position: number[];
  rotation: number[]; // w, x, y, z
  velocity: { linear: number[]; angular: number[] } | null;
}

// The figures of the selected body.
export class SelectionSection {
  readonly element = el("section", { class: "selection", hidden: true });
  private readonly name = el("b");
  private readonly rows = el("dl");
  private readonly follow: HTMLButtonElement;

  constructor(
    private readonly scene: SceneInfo,
    follow: () => void,
  ) {
    this.follow = el("button", { type: "button", class: "chip", title: "Follow (F)", click: follow }, "Follow");
    this.element.append(el("h2", {}, "Body"), el("div", { class: "row" }, this.name, this.follow), this.rows);
  }

  update(selection: Selection | null, following: boolean): void {
    this.element.hidden = selection === null;
    if (!selection) return;
    const info = this.scene.bodies[selection.body]!;
    this.name.textContent = info.name;
    this.follow.setAttribute("aria-pressed", String(following));
    const list = (values: number[], decimals: number): string => values.map((v) => fixed(v, decimals)).join("  ");
    const rows: [string, string, string][] = [
      ["mass", short(info.mass), "kg"],
      ["position", list(selection.position, 4), "m"],
      ["rotation", list(selection.rotation, 3), "wxyz"],
    ];
    if (selection.velocity) {
      rows.push(["velocity", list(selection.velocity.linear, 3), "m/s"]);
      rows.push(["turning", list(selection.velocity.angular, 3), "rad/s"]);
    }
    this.rows.replaceChildren(
      ...rows.flatMap(([name, value, unit]) => [el("dt", {}, name), el("dd", {}, value, el("small", {}, ` ${unit}`))]),
    );
  }
}

// Solver, time step, friction and controls of a live simulation.
export class LiveSection {
  readonly element = el("div");
  private state: LiveState | null = null;
  private readonly sliders: { input: HTMLInputElement; output: HTMLElement }[] = [];

  constructor(
    private readonly scene: SceneInfo,
    private readonly send: (command: Command) => void,
    private readonly refuse: (message: string) => void,
  ) {}

  // Shows what is true, also in the field that is being edited.
  restore(): void {
    if (this.state) this.update(this.state, true);
  }

  update(state: LiveState, all = false): void {
    const structure = (s: LiveState | null): string =>
      JSON.stringify([s?.solvers, s?.time_step !== undefined, s?.friction !== undefined, s?.controls?.length]);
    const rebuild = structure(state) !== structure(this.state);
    this.state = state;
    if (rebuild) this.build(state);
    const solver = this.element.querySelector<HTMLSelectElement>("[data-setting=solver]");
    if (solver && state.solver !== undefined) solver.value = state.solver;
    this.setNumber("time_step", state.time_step, all);
    this.setNumber("friction", state.friction, all);
    state.controls?.forEach((value, i) => {
      const slider = this.sliders[i];
      if (!slider || (!all && slider.input.matches(":active"))) return;
      // A control without limits may be beyond the slider's.
      if (value < Number(slider.input.min)) slider.input.min = String(2 * value);
      if (value > Number(slider.input.max)) slider.input.max = String(2 * value);
      slider.input.value = String(value);
      slider.output.textContent = fixed(value, 3);
    });
  }

  // A field that is being edited stays as it is.
  private setNumber(name: string, range: Range | undefined, all: boolean): void {
    const input = this.element.querySelector<HTMLInputElement>(`[data-setting=${name}]`);
    if (!input || !range || (!all && document.activeElement === input)) return;
    input.value = String(Number(range.value.toPrecision(6)));
  }

  private number(name: "time_step" | "friction", label: string, unit: string, range: Range): HTMLElement {
    const input = el("input", {
      type: "number",
      step: "any",
      min: range.minimum,
      max: range.maximum,
      "data-setting": name,
      change: () => {
        const value = Number(input.value);
        if (input.value !== "" && Number.isFinite(value)) this.send({ type: name, value });
        else this.refuse(`${label}: that is no number; give one from ${range.minimum} to ${range.maximum}`);
      },
      blur: () => {
        this.restore(); // what was typed and not sent
      },
    });
    return el("label", { class: "row" }, label, el("span", {}, input, el("small", {}, ` ${unit}`)));
  }

  private build(state: LiveState): void {
    const rows: HTMLElement[] = [];
    if (state.solvers && state.solvers.length > 0) {
      const select = el(
        "select",
        {
          "data-setting": "solver",
          change: () => {
            this.send({ type: "solver", name: select.value });
          },
        },
        ...state.solvers.map((name) => el("option", { value: name }, name)),
      );
      rows.push(el("label", { class: "row" }, "Solver", select));
    }
    if (state.time_step) rows.push(this.number("time_step", "Time step", "s", state.time_step));
    if (state.friction) rows.push(this.number("friction", "Friction", "", state.friction));
    const sections: HTMLElement[] = [];
    if (rows.length > 0) sections.push(el("section", { class: "settings" }, el("h2", {}, "Simulation"), ...rows));
    this.sliders.length = 0;
    const controls = this.scene.controls.map((info, index) => this.slider(info.name, index, info.range ?? [-1, 1]));
    if (state.controls && controls.length > 0) {
      const body = el("div", { class: "controls" }, ...controls);
      sections.push(el("section", {}, el("h2", {}, "Controls"), body));
    }
    this.element.replaceChildren(...sections);
  }

  private slider(name: string, index: number, range: [number, number]): HTMLElement {
    const output = el("output", {}, "0");
    const input = el("input", {
      type: "range",
      min: range[0],
      max: range[1],
      step: "any",
      "data-control": index,
      input: () => {
        output.textContent = fixed(Number(input.value), 3);
        this.send({ type: "control", index, value: Number(input.value) });
      },
    });
    this.sliders.push({ input, output });
    return el("label", {}, el("span", {}, name), input, output);
  }
}
