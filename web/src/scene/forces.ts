// Which arrows stand for the contact forces of a moment, and how long they are. An arrow's length is proportional to its
// force up to a longest one, so that a legend can say what a length means; arrows beyond that are cut and marked.
import type { Contacts, FrameStore } from "../data/store";

const mostContacts = 150; // more at once, and the contacts of a patch share an arrow
const mostArrows = 400; // more, and the weakest are left out
const samePatch = 0.9; // cosine between normals of one patch
const quantile = 0.9; // of the forces of a moment: what is typical for it
const mostFrames = 100; // of a replay that are looked at

export interface Arrows {
  count: number; // of those drawn; the strongest first when some are left out
  position: Float32Array; // 3 each
  force: Float32Array; // 3 each
  all: number; // with those that are left out
  patches: boolean; // an arrow is the sum over a patch
}

function norm(values: Float32Array, i: number): number {
  return Math.hypot(values[3 * i]!, values[3 * i + 1]!, values[3 * i + 2]!);
}

// The contacts between two bodies with about one normal are a patch: one arrow with the sum of their forces, where their
// mean is by force.
function patchesOf(contacts: Contacts): { position: number[]; force: number[] } {
  const known = new Map<string, number[]>(); // patches of a pair, by index
  const normals: number[] = []; // of the first contact of each patch
  const weights: number[] = [];
  const position: number[] = [];
  const force: number[] = [];
  const { normal, labels } = contacts;
  for (let i = 0; i < contacts.count; ++i) {
    const size = norm(contacts.force, i);
    if (!(size > 0)) continue;
    const key = `${labels[4 * i]} ${labels[4 * i + 1]}`;
    const candidates = known.get(key) ?? [];
    known.set(key, candidates);
    const cosine = (p: number): number =>
      normals[3 * p]! * normal[3 * i]! +
      normals[3 * p + 1]! * normal[3 * i + 1]! +
      normals[3 * p + 2]! * normal[3 * i + 2]!;
    let patch = candidates.find((p) => cosine(p) > samePatch);
    if (patch === undefined) {
      patch = weights.length;
      candidates.push(patch);
      weights.push(0);
      for (let k = 0; k < 3; ++k) normals.push(normal[3 * i + k]!);
      position.push(0, 0, 0);
      force.push(0, 0, 0);
    }
    weights[patch]! += size;
    for (let k = 0; k < 3; ++k) {
      position[3 * patch + k]! += size * contacts.position[3 * i + k]!;
      force[3 * patch + k]! += contacts.force[3 * i + k]!;
    }
  }
  weights.forEach((weight, p) => {
    for (let k = 0; k < 3; ++k) position[3 * p + k]! /= weight;
  });
  return { position, force };
}

export function arrowsOf(contacts: Contacts, patches: boolean): Arrows {
  const given = patches ? patchesOf(contacts) : contacts;
  const position = Float32Array.from(given.position);
  const force = Float32Array.from(given.force);
  const sizes = Array.from({ length: force.length / 3 }, (_, i) => norm(force, i));
  let order = sizes.map((_, i) => i).filter((i) => sizes[i]! > 0 && Number.isFinite(sizes[i]!));
  const all = order.length;
  if (all > mostArrows) order = order.sort((a, b) => sizes[b]! - sizes[a]! || a - b).slice(0, mostArrows);
  const pick = (from: Float32Array): Float32Array =>
    Float32Array.from({ length: 3 * order.length }, (_, j) => from[3 * order[Math.floor(j / 3)]! + (j % 3)]!);
  return { count: order.length, position: pick(position), force: pick(force), all, patches };
}

function sorted(values: number[]): number[] {
  return values.sort((a, b) => a - b);
}

// The typical force of a moment; 0 if nothing touches.
export function typicalForce(contacts: Contacts | null, patches: boolean): number {
  if (!contacts) return 0;
  const { count, force } = arrowsOf(contacts, patches);
  const sizes = sorted(Array.from({ length: count }, (_, i) => norm(force, i)));
  return sizes[Math.floor(quantile * (count - 1))] ?? 0;
}

const median = (values: number[]): number => sorted(values)[Math.floor(values.length / 2)] ?? 0;

const remembered = 120; // moments of a live view that count
const enough = 30; // of them, before the scale may change
const tolerated = 3; // times longer or shorter than wanted

// How long an arrow is for a force. A replay has one scale throughout. A live view begins with a guess and keeps it
// until the forces have been far from it for a while; then the scale glides.
export class ForceScale {
  patches = false;
  private newtons: number; // whose arrow has the typical length
  private wanted: number;
  private readonly recent: number[] = [];

  // `length` is that of a typical force's arrow, m; `guess` such a force, N.
  constructor(
    private readonly length: number,
    guess: number,
    store: FrameStore,
  ) {
    const stride = Math.max(1, Math.floor(store.count / mostFrames));
    const frames = store.frames.filter((_, i) => i % stride === 0);
    this.patches = frames.some((frame) => (frame.contacts?.count ?? 0) > mostContacts);
    const seen = frames.map((frame) => typicalForce(frame.contacts, this.patches)).filter((force) => force > 0);
    this.newtons = this.wanted = median(seen) || guess;
  }

  get metresPerNewton(): number {
    return this.length / this.newtons;
  }

  // Of an arrow, m.
  get longest(): number {
    return 2 * this.length;
  }

  // A moment of a live view.
  observe(contacts: Contacts | null): void {
    if ((contacts?.count ?? 0) > mostContacts && !this.patches) {
      this.patches = true;
      this.recent.length = 0;
    }
    const force = typicalForce(contacts, this.patches);
    if (!(force > 0)) return;
    this.recent.push(force);
    if (this.recent.length > remembered) this.recent.shift();
    if (this.recent.length < enough) return;
    const now = median([...this.recent]);
    if (now > tolerated * this.wanted || now < this.wanted / tolerated) this.wanted = now;
  }

  // Moves towards the wanted scale; false when it is there.
  glide(seconds: number): boolean {
    if (this.newtons === this.wanted) return false;
    const left = Math.log(this.wanted / this.newtons) * Math.exp(-4 * seconds);
    this.newtons = Math.abs(left) < 0.01 ? this.wanted : this.wanted / Math.exp(left);
    return true;
  }
}

// A force whose arrow is about `pixels` long, as 1, 2 or 5 times a power of ten, and how long it is exactly.
export function legendArrow(pixelsPerNewton: number, pixels: number): { newtons: number; pixels: number } | null {
  const rough = pixels / pixelsPerNewton;
  if (!(rough > 0) || !Number.isFinite(rough)) return null;
  const power = 10 ** Math.floor(Math.log10(rough));
  const newtons = [5, 2, 1].map((step) => step * power).find((value) => value <= rough * 1.0001) ?? power;
  return { newtons, pixels: newtons * pixelsPerNewton };
}

// With the prefix that leaves one to three digits before the point.
export function newtonText(newtons: number): string {
  const prefixes: [number, string][] = [
    [1e9, "GN"],
    [1e6, "MN"],
    [1e3, "kN"],
    [1, "N"],
    [1e-3, "mN"],
    [1e-6, "µN"],
  ];
  const [size, unit] = prefixes.find(([scale]) => newtons >= 0.9999 * scale) ?? [1e-6, "µN"];
  return `${Number((newtons / size).toPrecision(3))} ${unit}`;
}
