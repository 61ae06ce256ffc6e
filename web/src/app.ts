// The viewer: joins frames, picture and interface. One of it shows one scene, replayed or live.
import { Vector3, type BufferGeometry } from "three";
import type { CertificateItem, SceneInfo } from "./data/document";
import type { Command, LiveState } from "./data/live";
import { RateMeter } from "./data/rate";
import { poseSize, type FrameStore } from "./data/store";
import { Bodies } from "./scene/bodies";
import { geometriesOf } from "./scene/geometry";
import { ForceScale } from "./scene/forces";
import { Ground } from "./scene/ground";
import { ballAround, ballOfBoth, sizesOf } from "./scene/measure";
import { Overlays } from "./scene/overlays";
import { Stage, type Quality, type Theme } from "./scene/stage";
import { Certificate } from "./ui/certificate";
import { Chart } from "./ui/chart";
import { el, iconButton } from "./ui/dom";
import { ForceLegend } from "./ui/forces";
import { Help } from "./ui/help";
import { bindKeys } from "./ui/keys";
import { BodyPointer } from "./ui/pointer";
import { DisplaySection, LiveSection, SelectionSection, type Selection, type Toggle, type Toggles } from "./ui/panel";
import { speeds, Transport } from "./ui/transport";

// Where a live simulation takes its orders; null for a replay.
export type Send = ((command: Command) => void) | null;

export interface AppOptions {
  title: string;
  subtitle: string;
  theme: Theme;
  panel: boolean;
  interface: boolean;
  quality: Quality;
  play: boolean;
  time: number | null;
}

const longestPause = 0.5; // s between two pictures of a replay; after more (a hidden page) it goes on where it was
const narrow = 760; // px; below, the panel starts closed

export class App {
  readonly toggles: Toggles = {
    visual: true,
    collision: false,
    hidden: false,
    contacts: true,
    forces: true,
    cones: false,
    frames: false,
    joints: false,
    loops: true,
    inertia: false,
    islands: false,
    ground: true,
  };
  playing = false;
  time = 0;
  speed = 1;
  selected = -1;
  followed = -1; // the body that the camera moves with; -1: none
  pinned = false; // live: the past is shown
  connected = true;
  live: LiveState | null = null;
  renders = 0;

  private readonly stage: Stage;
  private readonly bodies: Bodies;
  private readonly ground: Ground;
  private readonly overlays: Overlays;
  private readonly forceScale: ForceScale;
  private readonly forceLegend = new ForceLegend();
  private readonly rate = new RateMeter();
  private readonly transport: Transport;
  private readonly certificate = new Certificate();
  private readonly display: DisplaySection;
  private readonly selection: SelectionSection;
  private readonly liveSection: LiveSection | null;
  private readonly charts: Chart[] = [];
  private readonly help = new Help();
  private readonly panel = el("aside", { class: "panel card" });
  private readonly bar: HTMLElement;
  private readonly status = el("span", { class: "badge" });
  private readonly toast = el("div", { class: "toast card", role: "alert", hidden: true });
  private readonly pointer: BodyPointer;
  private readonly poses: Float32Array;
  private readonly islands: Int32Array;
  private readonly extent: number;
  private theme: Theme;
  private hasContacts = false;
  private dirty = true;
  private lastTick = performance.now();
  private readonly lastFollowed = new Vector3(); // where the followed body was drawn last
  private toastTimer = 0;

  static async create(
    root: HTMLElement,
    scene: SceneInfo,
    store: FrameStore,
    send: Send,
    options: AppOptions,
  ): Promise<App> {
    return new App(root, scene, store, send, options, await geometriesOf(scene));
  }

  private constructor(
    root: HTMLElement,
    readonly scene: SceneInfo,
    readonly store: FrameStore,
    readonly send: Send,
    options: AppOptions,
    geometries: Map<string, BufferGeometry>,
  ) {
    this.poses = Float32Array.from(scene.bodies.flatMap((body) => body.pose));
    this.islands = new Int32Array(scene.bodies.length).fill(-1);
    this.theme = options.theme;
    if (store.count > 0) this.poses.set(store.frames[0]!.poses);
    const ball = ballAround(scene, this.poses);
    const sizes = sizesOf(scene, ball.radius);
    this.extent = ball.radius;

    const view = el("div", { class: "view" });
    this.stage = new Stage(view, options.quality, () => {
      this.dirty = true;
    });
    this.bodies = new Bodies(scene, geometries);
    // A mechanism without shapes is seen by its joints and masses.
    if (!scene.bodies.some((body, b) => body.moves && this.bodies.colorOf(b) !== null)) {
      this.toggles.joints = this.toggles.inertia = scene.bodies.some((body) => body.moves);
    }
    this.ground = new Ground(scene, sizes.unit, ball.radius);
    this.forceScale = new ForceScale(sizes.arrow, sizes.weight, store);
    this.overlays = new Overlays(scene, sizes.unit, this.forceScale);
    this.stage.scene.add(this.bodies.group, this.ground.group, this.overlays.group);

    this.transport = new Transport(this, store);
    this.display = new DisplaySection((name) => {
      this.toggleDisplay(name);
    });
    this.selection = new SelectionSection(scene, () => {
      this.toggleFollow();
    });
    this.liveSection = send
      ? new LiveSection(scene, send, (message) => {
          this.refuse(message);
        })
      : null;
    this.buildPanel();
    this.bar = this.buildBar(options);
    root.replaceChildren(
      view,
      el("div", { class: "foot" }, this.forceLegend.element, this.transport.element),
      this.bar,
      this.panel,
      this.toast,
      this.help.element,
    );
    document.title = `${options.title} · Touchstone`;

    this.setTheme(options.theme);
    this.togglePanel(options.panel && options.interface && window.innerWidth > narrow);
    root.classList.toggle("bare", !options.interface);
    new ResizeObserver(() => {
      this.resize();
    }).observe(root);
    this.resize();
    this.followTraveller();
    // The end too, unless it is far away.
    const end = this.followed < 0 && store.count > 1 ? ballAround(scene, store.frames.at(-1)!.poses) : ball;
    const both = ballOfBoth(ball, end);
    const whole = both.radius < 2.5 * ball.radius ? both : ball;
    this.stage.frame(whole.center, whole.radius);
    this.pointer = new BodyPointer(view, this.stage, this.bodies, this);
    bindKeys(this);

    this.hasContacts = store.frames.some((frame) => (frame.contacts?.count ?? 0) > 0);
    this.time = store.start;
    if (options.time !== null) this.seek(options.time);
    this.playing = send === null && options.play && store.count > 1;
    this.stage.renderer.setAnimationLoop((now) => {
      this.tick(now);
    });
  }

  // --- layout -------------------------------------------------------------------------------------------------------

  private buildBar(options: AppOptions): HTMLElement {
    const titles = el("div", { class: "titles" }, el("h1", { title: options.title }, options.title));
    if (options.subtitle) titles.append(el("p", { title: options.subtitle }, options.subtitle));
    const help = el("button", {
      type: "button",
      class: "icon",
      title: "Help (?)",
      "aria-label": "Help",
      click: () => {
        this.help.toggle();
      },
    });
    help.textContent = "?";
    const tools = el(
      "div",
      { class: "buttons" },
      iconButton("fit", "Show everything (Z)", () => {
        this.fit();
      }),
      iconButton("theme", "Light, dark (T)", () => {
        this.setTheme(this.theme === "light" ? "dark" : "light");
      }),
      iconButton("panel", "Panel (P)", () => {
        this.togglePanel();
      }),
      help,
    );
    const badges = el("div", { class: "badges" }, this.certificate.badge, this.status);
    return el("header", { class: "bar card" }, titles, badges, tools);
  }

  private buildPanel(): void {
    this.panel.append(this.certificate.section, this.selection.element, this.display.element);
    if (this.liveSection) this.panel.append(this.liveSection.element);
    const names = new Map<string, number[]>();
    this.store.channels.forEach((channel, i) => {
      const members = names.get(channel.chart);
      if (members) members.push(i);
      else names.set(channel.chart, [i]);
    });
    for (const [name, channels] of names) {
      const chart = new Chart(name, this.store, channels, (time) => {
        this.seek(time);
      });
      this.charts.push(chart);
      this.panel.append(chart.element);
    }
  }

  // By default the window's size.
  resize(width = window.innerWidth, height = window.innerHeight): void {
    this.stage.resize(width, height);
    // The middle of the picture is the middle of what the panel leaves free.
    const beside = this.panelOpen && width > narrow ? width - this.panel.getBoundingClientRect().left : 0;
    if (beside > 0) this.stage.camera.setViewOffset(width, height, beside / 2, 0, width, height);
    else this.stage.camera.clearViewOffset();
    const { style } = document.documentElement;
    style.setProperty("--head", `${this.bar.offsetHeight}px`);
    style.setProperty("--foot", `${this.transport.element.offsetHeight}px`);
    this.dirty = true;
  }

  get panelOpen(): boolean {
    return !this.panel.hidden;
  }

  togglePanel(open = !this.panelOpen): void {
    this.panel.hidden = !open;
    this.panel.parentElement?.classList.toggle("with-panel", open);
    this.resize();
  }

  toggleHelp(): void {
    this.help.toggle();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    document.documentElement.dataset["theme"] = theme;
    this.stage.setTheme(theme);
    this.ground.setColors(this.stage.look.ground);
    for (const chart of this.charts) chart.setTheme(theme);
    this.dirty = true;
  }

  toggleTheme(): void {
    this.setTheme(this.theme === "light" ? "dark" : "light");
  }

  invalidate(): void {
    this.dirty = true;
  }

  get canDrag(): boolean {
    return this.live?.can_drag === true;
  }

  toggleDisplay(name: Toggle): void {
    this.toggles[name] = !this.toggles[name];
    this.dirty = true;
  }

  showMessage(message: string): void {
    this.toast.textContent = message;
    this.toast.hidden = false;
    window.clearTimeout(this.toastTimer);
    this.toastTimer = window.setTimeout(() => (this.toast.hidden = true), 6000);
  }

  // What was asked for is not done: the fields show what is true, and a message says why.
  refuse(message: string): void {
    if (this.live) {
      this.speed = this.live.speed;
      this.liveSection?.restore();
    }
    this.showMessage(message);
    this.dirty = true;
  }

  // --- what a live simulation says ----------------------------------------------------------------------------------

  setLiveState(state: LiveState): void {
    if (this.playing !== state.playing || this.speed !== state.speed) this.rate.reset();
    this.live = state;
    this.playing = state.playing;
    this.speed = state.speed;
    this.liveSection?.update(state);
    this.dirty = true;
  }

  setCertificate(items: CertificateItem[]): void {
    this.certificate.update(items);
  }

  frameArrived(): void {
    if (!this.pinned || this.time > this.store.end) this.time = this.store.end;
    const contacts = this.store.frames[this.store.count - 1]?.contacts ?? null;
    if ((contacts?.count ?? 0) > 0) this.hasContacts = true;
    this.forceScale.observe(contacts);
    if (this.playing) this.rate.add(this.store.end, performance.now() / 1000);
    this.dirty = true;
  }

  setConnected(connected: boolean): void {
    this.connected = connected;
    this.rate.reset();
    this.dirty = true;
  }

  // --- time ---------------------------------------------------------------------------------------------------------

  toggle(): void {
    if (this.send) {
      this.pinned = false;
      this.send({ type: this.playing ? "pause" : "play" });
      return;
    }
    this.playing = !this.playing;
    this.rate.reset();
    if (this.playing && this.time >= this.store.end) this.time = this.store.start;
    this.dirty = true;
  }

  // A step of the simulation, or in the past a frame of the recording.
  step(direction: 1 | -1): void {
    const index = this.store.indexAt(this.time);
    if (this.send) {
      if (this.playing) this.send({ type: "pause" });
      if (direction > 0 && (!this.pinned || index >= this.store.count - 1)) {
        this.pinned = false;
        this.send({ type: "step", count: 1 });
        return;
      }
    }
    this.playing = false;
    const frame = this.store.frames[index + direction];
    if (frame) this.seek(frame.time);
  }

  reset(): void {
    if (this.send) {
      this.pinned = false;
      this.send({ type: "reset" });
    } else {
      this.seek(this.store.start);
    }
  }

  latest(): void {
    this.seek(this.store.end);
    this.pinned = false;
  }

  seek(time: number): void {
    this.time = Math.min(this.store.end, Math.max(this.store.start, time));
    this.pinned = this.send !== null && this.time < this.store.end;
    if (!this.send) this.rate.reset();
    this.dirty = true;
  }

  setSpeed(speed: number): void {
    this.speed = speed; // at once, so that the next key counts from here; the server has the last word
    this.send?.({ type: "speed", value: speed });
    this.rate.reset();
    this.dirty = true;
  }

  changeSpeed(direction: 1 | -1): void {
    const next = direction > 0 ? speeds.find((s) => s > this.speed) : speeds.filter((s) => s < this.speed).pop();
    if (next !== undefined) this.setSpeed(next);
  }

  // --- bodies -------------------------------------------------------------------------------------------------------

  select(body: number): void {
    this.selected = body;
    this.dirty = true;
  }

  // The camera keeps its distance and direction, and looks at the body.
  follow(body: number): void {
    this.followed = body;
    if (body >= 0) this.moveCamera(this.bodyPosition(body).sub(this.stage.controls.target));
    this.lastFollowed.copy(this.stage.controls.target);
    this.dirty = true;
  }

  toggleFollow(): void {
    this.follow(this.selected > 0 && this.followed !== this.selected ? this.selected : -1);
  }

  private moveCamera(by: Vector3): void {
    this.stage.camera.position.add(by);
    this.stage.controls.target.add(by);
  }

  fit(): void {
    this.follow(-1);
    const ball = ballAround(this.scene, this.poses);
    this.stage.frame(ball.center, ball.radius);
    this.dirty = true;
  }

  // A robot that leaves the picture is followed from the start.
  private followTraveller(): void {
    const root = this.scene.bodies.findIndex((body, i) => i > 0 && body.moves);
    if (root < 0 || this.scene.bodies.filter((body, i) => i > 0 && body.parent === 0 && body.moves).length > 1) return;
    const first = this.store.frames[0]?.poses;
    const last = this.store.frames[this.store.count - 1]?.poses;
    if (!first || !last) return;
    const at = (poses: Float32Array): Vector3 => new Vector3().fromArray(poses, root * poseSize);
    if (at(first).distanceTo(at(last)) < 2 * this.extent) return;
    this.followed = root;
    this.lastFollowed.copy(at(first));
  }

  private bodyPosition(body: number): Vector3 {
    return new Vector3().fromArray(this.poses, body * poseSize);
  }

  // --- the loop -----------------------------------------------------------------------------------------------------

  private tick(now: number): void {
    const elapsed = Math.min(longestPause, (now - this.lastTick) / 1000);
    this.lastTick = now;
    if (!this.send && this.playing) {
      this.time += elapsed * this.speed;
      if (this.time >= this.store.end) {
        this.time = this.store.end;
        this.playing = false;
      }
      this.rate.add(this.time, now / 1000);
      this.dirty = true;
    }
    if (this.forceScale.glide(elapsed)) this.dirty = true;
    this.stage.controls.update();
    this.catchUp();
  }

  private catchUp(): void {
    if (!this.dirty) return;
    this.dirty = false;
    this.draw();
  }

  // What is drawn now with its legend, as a data URL. Right after drawing, since the browser forgets the picture when
  // the task ends.
  picture(type: "image/jpeg" | "image/png", quality?: number): string {
    this.draw();
    const drawn = this.stage.renderer.domElement;
    const canvas = el("canvas", { width: drawn.width, height: drawn.height });
    const context = canvas.getContext("2d");
    if (!context) return drawn.toDataURL(type, quality);
    context.drawImage(drawn, 0, 0);
    this.forceLegend.drawInto(context, drawn.height, this.stage.renderer.getPixelRatio());
    return canvas.toDataURL(type, quality);
  }

  draw(): void {
    const index = this.store.interpolate(this.time, this.poses);
    if (this.followed >= 0) {
      const position = this.bodyPosition(this.followed);
      this.moveCamera(position.clone().sub(this.lastFollowed));
      this.lastFollowed.copy(position);
    }
    this.bodies.show(this.toggles.visual, this.toggles.collision, this.toggles.hidden);
    this.moveBodies(this.time);
    this.pointer.stretch();
    this.ground.group.visible = this.toggles.ground;
    this.ground.setCenter(this.stage.controls.target, this.stage.distance);
    this.stage.render();
    ++this.renders;
    this.updateInterface(index);
  }

  // Everything that is written for the graphics card.
  moveBodies(time: number): void {
    const index = this.store.interpolate(time, this.poses);
    const islands = this.toggles.islands ? this.islandsOf(index) : null;
    this.bodies.update(this.poses, this.selected, islands, this.store.frames[index]?.asleep);
    this.overlays.update(
      this.poses,
      this.store.frames[index]?.contacts ?? null,
      this.toggles,
      1 / this.stage.pixelsPerMetre,
    );
  }

  // Bodies that do not move join no islands.
  private islandsOf(index: number): Int32Array {
    this.islands.fill(-1);
    const contacts = this.store.frames[index]?.contacts;
    for (let i = 0; contacts && i < contacts.count; ++i) {
      const island = contacts.labels[4 * i + 3]!;
      for (const body of [contacts.labels[4 * i]!, contacts.labels[4 * i + 1]!]) {
        if (this.scene.bodies[body]?.moves) this.islands[body] = island;
      }
    }
    return this.islands;
  }

  private updateInterface(index: number): void {
    this.transport.update({
      playing: this.playing,
      time: this.time,
      start: this.store.start,
      end: this.store.end,
      speed: this.speed,
      live: this.send !== null,
      atLatest: !this.pinned,
      theme: this.theme,
      achieved: this.achieved,
    });
    const { metresPerNewton, longest } = this.forceScale;
    this.forceLegend.update({
      arrows: this.overlays.drawn,
      cut: this.overlays.cut,
      pixelsPerNewton: metresPerNewton * this.stage.pixelsPerMetre,
      longest: longest / metresPerNewton,
    });
    const status = this.send ? (this.connected ? (this.pinned ? "past" : "live") : "disconnected") : "replay";
    this.status.textContent = status;
    this.status.className = `badge ${status}`;
    if (!this.panelOpen) return;
    this.display.update(this.toggles, this.hasContacts, this.bodies.hasHidden, this.overlays.hasLoops);
    this.selection.update(this.selectionAt(index), this.followed === this.selected);
    for (const chart of this.charts) chart.update(this.time, index);
  }

  // Simulated seconds for a second; null while nothing moves, or before it is known.
  get achieved(): number | null {
    return this.playing && this.connected ? this.rate.at(performance.now() / 1000) : null;
  }

  selectionAt(index: number): Selection | null {
    if (this.selected < 0) return null;
    const i = this.selected * poseSize;
    const pose = Array.from(this.poses.subarray(i, i + poseSize));
    return {
      body: this.selected,
      position: pose.slice(0, 3),
      rotation: pose.slice(3),
      velocity: this.store.velocity(index, this.selected),
    };
  }

  // What tests look at: of one moment, so what has changed since the last picture is drawn first.
  state(): object {
    this.catchUp();
    const index = this.store.indexAt(this.time);
    return {
      mode: this.send ? "live" : "replay",
      connected: this.connected,
      playing: this.playing,
      pinned: this.pinned,
      time: this.time,
      index,
      count: this.store.count,
      start: this.store.start,
      end: this.store.end,
      speed: this.speed,
      achieved: this.achieved,
      forces: this.forceLegend.state,
      selected: this.selected,
      followed: this.followed,
      toggles: { ...this.toggles },
      theme: this.theme,
      panel: this.panelOpen,
      help: this.help.open,
      contacts: this.store.frames[index]?.contacts?.count ?? 0,
      visible: this.visible(),
      camera: { position: this.stage.camera.position.toArray(), target: this.stage.controls.target.toArray() },
      marks: this.transport.marks.count,
      charts: this.charts.map((chart) => chart.title),
      certificate: this.certificate.items,
      drawCalls: this.stage.renderer.info.render.calls,
      triangles: this.stage.renderer.info.render.triangles,
      renders: this.renders,
      live: this.live,
      poses: Array.from(this.poses),
    };
  }

  // What the picture holds, which the toggles ask for.
  private visible(): object {
    return {
      ...this.bodies.shown,
      ...this.overlays.counts,
      ground: this.ground.group.visible,
      shadows: this.stage.renderer.shadowMap.enabled,
      colors: this.scene.bodies.map((_, b) => this.bodies.colorOf(b)),
    };
  }

  // Where a body's origin is in the window; for tests that click.
  screenPosition(body: number): { x: number; y: number } {
    this.catchUp();
    const p = this.bodyPosition(body).project(this.stage.camera);
    return { x: ((p.x + 1) / 2) * window.innerWidth, y: ((1 - p.y) / 2) * window.innerHeight };
  }

  closeOverlays(): void {
    if (this.help.open) this.help.toggle(false);
    else this.select(-1);
  }
}
