// The frames that the page knows: all of a replay, or the recorded past of a live simulation.
import type { ChannelInfo } from "./document";

export const poseSize = 7; // x, y, z, then w, x, y, z of the quaternion

export enum ContactMode {
  open = 0,
  stick = 1,
  slip = 2,
}

export interface Contacts {
  count: number;
  position: Float32Array; // 3 each
  normal: Float32Array; // 3 each, from body A to body B
  force: Float32Array; // 3 each, on body B
  distance: Float32Array;
  friction: Float32Array;
  labels: Int32Array; // 4 each: body A, body B, mode, island
}

// Something that happened between two frames.
export const markKind = {
  event: 0, // a contact or limit closed, opened, slipped or stuck
  impact: 1, // velocities jumped
  fallback: 2, // another rule had to make the step
};

export interface Mark {
  time: number;
  kind: number; // of markKind
}

export interface Frame {
  time: number;
  poses: Float32Array; // poseSize for each body
  contacts: Contacts | null;
  asleep?: ArrayLike<number>; // bodies that sleep
  values: Float32Array; // one for each channel
  low?: Float32Array; // their extremes since the frame before, where they are known
  high?: Float32Array;
}

// Numbers that a live recording may hold before its oldest quarter is forgotten: 256 MB.
const mostNumbers = 64e6;

export class FrameStore {
  readonly frames: Frame[] = [];
  readonly marks: Mark[] = [];
  version = 0; // changes with the content
  private numbers = 0;

  constructor(
    readonly bodyCount: number,
    readonly channels: ChannelInfo[],
  ) {}

  get count(): number {
    return this.frames.length;
  }

  get start(): number {
    return this.frames[0]?.time ?? 0;
  }

  get end(): number {
    return this.frames[this.frames.length - 1]?.time ?? 0;
  }

  // Time that runs backwards means that the simulation was reset: the past is another one.
  append(frame: Frame, marks: Mark[] = []): void {
    if (this.count > 0 && frame.time < this.end) this.clear();
    if (this.count > 0 && frame.time === this.end) this.frames.pop();
    this.frames.push(frame);
    this.marks.push(...marks);
    this.numbers += frame.poses.length + (frame.contacts?.count ?? 0) * 15;
    if (this.numbers > mostNumbers) {
      this.frames.splice(0, Math.ceil(this.count / 4));
      this.numbers *= 0.75;
      const kept = this.marks.findIndex((mark) => mark.time >= this.start);
      this.marks.splice(0, kept < 0 ? this.marks.length : kept);
    }
    ++this.version;
  }

  clear(): void {
    this.frames.length = 0;
    this.marks.length = 0;
    this.numbers = 0;
    ++this.version;
  }

  // The last frame that is not later than the time; -1 if there is none.
  indexAt(time: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle]!.time <= time) low = middle + 1;
      else high = middle;
    }
    return low > 0 ? low - 1 : Math.min(0, this.count - 1);
  }

  // Poses at any time, between two frames: positions along the line, rotations along the short arc. Returns the nearest
  // frame, whose contacts are where the bodies are, give or take half a frame.
  interpolate(time: number, out: Float32Array): number {
    const index = this.indexAt(time);
    const a = this.frames[index];
    if (!a) return index;
    const b = this.frames[index + 1];
    const s = b && b.time > a.time ? Math.min(1, Math.max(0, (time - a.time) / (b.time - a.time))) : 0;
    if (!b || s === 0) {
      out.set(a.poses);
      return index;
    }
    for (let i = 0; i < out.length; i += poseSize) blendPose(a.poses, b.poses, i, s, out);
    return s > 0.5 ? index + 1 : index;
  }

  // Linear and angular velocity of a body in world axes, from the poses around a frame.
  velocity(index: number, body: number): { linear: number[]; angular: number[] } | null {
    const a = this.frames[Math.max(0, index - 1)];
    const b = this.frames[Math.min(this.count - 1, index + 1)];
    if (!a || !b || b.time <= a.time) return null;
    const h = b.time - a.time;
    const p = a.poses.subarray(body * poseSize, (body + 1) * poseSize);
    const q = b.poses.subarray(body * poseSize, (body + 1) * poseSize);
    const linear = [0, 1, 2].map((k) => (q[k]! - p[k]!) / h);
    // The rotation from a to b is q_b q_a^-1; half its vector part is about half its angle.
    const [aw, ax, ay, az] = [p[3]!, p[4]!, p[5]!, p[6]!];
    const [bw, bx, by, bz] = [q[3]!, q[4]!, q[5]!, q[6]!];
    const w = bw * aw + bx * ax + by * ay + bz * az;
    const v = [
      -bw * ax + bx * aw - by * az + bz * ay,
      -bw * ay + by * aw - bz * ax + bx * az,
      -bw * az + bz * aw - bx * ay + by * ax,
    ];
    const sine = Math.hypot(v[0]!, v[1]!, v[2]!);
    const angle = 2 * Math.atan2(sine, Math.abs(w)) * Math.sign(w || 1);
    const scale = sine > 0 ? angle / sine / h : 0;
    return { linear, angular: v.map((c) => c * scale) };
  }
}

function blendPose(a: Float32Array, b: Float32Array, i: number, s: number, out: Float32Array): void {
  for (let k = 0; k < 3; ++k) out[i + k] = a[i + k]! + s * (b[i + k]! - a[i + k]!);
  let cosine = 0;
  for (let k = 3; k < poseSize; ++k) cosine += a[i + k]! * b[i + k]!;
  const sign = cosine < 0 ? -1 : 1;
  let square = 0;
  for (let k = 3; k < poseSize; ++k) {
    const c = a[i + k]! + s * (sign * b[i + k]! - a[i + k]!);
    out[i + k] = c;
    square += c * c;
  }
  const scale = 1 / Math.sqrt(square || 1);
  for (let k = 3; k < poseSize; ++k) out[i + k]! *= scale;
}
